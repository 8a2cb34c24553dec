import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.training import schedule


def drawn(n_examples, seed=0, **settings):
    return schedule(n_examples, **{"epochs": 1, "batch_size": 4, **settings}, rng=np.random.default_rng(seed))


def test_an_epoch_sees_every_example_once():
    batches = drawn(10)
    assert batches.shape == (3, 4)
    np.testing.assert_array_equal(np.sort(batches.ravel()), [-1, -1, *range(10)])


def test_only_the_last_batch_of_an_epoch_is_not_full():
    assert (drawn(10)[:2] >= 0).all()
    assert (drawn(10)[2] >= 0).sum() == 2


def test_every_epoch_is_shuffled_anew():
    batches = drawn(8, epochs=2)
    assert sorted(batches[:2].ravel()) == sorted(batches[2:].ravel())
    assert (batches[:2] != batches[2:]).any()


@pytest.mark.parametrize(("epochs", "n_steps"), [(0.01, 1), (0.5, 4), (1.5, 12), (3, 24)])
def test_a_fraction_of_an_epoch_is_its_share_of_steps_and_at_least_one(epochs, n_steps):
    assert len(drawn(32, epochs=epochs)) == n_steps


def test_a_number_of_steps_goes_through_as_many_epochs_as_it_needs():
    np.testing.assert_array_equal(drawn(10, epochs=35, n_steps=7), drawn(10, epochs=3)[:7])
    np.testing.assert_array_equal(drawn(10, n_steps=2), drawn(10)[:2])
    with pytest.raises(InputError, match="n_steps must be a whole number of at least 1; got 0"):
        drawn(10, n_steps=0)


def test_the_generator_alone_decides():
    np.testing.assert_array_equal(drawn(50), drawn(50))
    assert (drawn(50) != drawn(50, seed=1)).any()


@pytest.mark.parametrize("n_examples", range(1, 12))
def test_a_batch_that_is_too_small_joins_the_one_before(n_examples):
    batches = drawn(n_examples, epochs=2, smallest=2)
    sizes = (batches >= 0).sum(axis=1)
    assert sizes.min() >= 2
    assert sizes.max() <= 5
    n_lost = n_examples % 4 == 1 and n_examples > 1
    assert len(batches) == 2 * (-(-n_examples // 4) - n_lost)
    counts = np.bincount(batches[batches >= 0], minlength=n_examples)
    assert (counts == (4 if n_examples == 1 else 2)).all()  # a lone example stands in a batch twice
    if n_examples % 4 != 1:
        np.testing.assert_array_equal(batches[:, :4], drawn(n_examples, epochs=2))


def test_batches_smaller_than_the_network_takes_are_refused():
    with pytest.raises(InputError, match="trains on 2 examples or more; got batch_size=1"):
        drawn(9, batch_size=1, smallest=2)


@pytest.mark.parametrize("wrong", [{"n_examples": 0}, {"batch_size": 0}, {"epochs": 0}, {"epochs": np.nan}])
def test_nothing_to_train_on_is_refused(wrong):
    with pytest.raises(InputError, match="training needs examples, batches and epochs above 0"):
        drawn(**{"n_examples": 5, **wrong})
