from functools import partial

import numpy as np
import pytest

from holdfast import InputError
from holdfast.core import bind
from holdfast.lab.data.split import dirichlet, everything, iid

CIFAR = np.repeat(np.arange(10), 5000)


def dealt(rule, labels=CIFAR, n_clients=100, seed=0):
    return bind(rule, "split")(labels, n_clients=n_clients, rng=np.random.default_rng(seed))


def statistics(shards, labels=CIFAR):
    """Return the smallest, median and largest shard, the share of its main class, and classes held."""
    sizes = np.array([len(shard) for shard in shards])
    counts = np.array([np.bincount(labels[shard], minlength=10) for shard in shards])
    return (
        sizes.min(),
        np.median(sizes),
        sizes.max(),
        (counts.max(axis=1) / sizes).mean(),
        (counts > 0).sum(1).mean(),
    )


@pytest.mark.parametrize("rule", [iid, dirichlet, partial(dirichlet, alpha=0.2)])
def test_every_example_goes_to_one_client(rule):
    everyone = np.concatenate(dealt(rule, labels=np.arange(3000) % 300, n_clients=10))
    np.testing.assert_array_equal(np.sort(everyone), np.arange(3000))


def test_equal_shares_are_equal_and_shuffled():
    shards = dealt(iid, n_clients=7)
    assert {len(shard) for shard in shards} == {7142, 7143}
    assert np.bincount(CIFAR[shards[0]]).min() > 500


def test_everything_goes_to_everybody():
    shards = everything(CIFAR, n_clients=3)
    assert [len(shard) for shard in shards] == [50_000] * 3


@pytest.mark.parametrize(
    ("alpha", "smallest", "largest", "main", "classes"),
    [(0.5, (80, 230), (900, 1600), 0.41, 8.2), (0.2, (10, 70), (1000, 2600), 0.57, 6.2)],
)
def test_the_edge_case_split_has_the_statistics_of_the_public_code(alpha, smallest, largest, main, classes):
    found = np.array([statistics(dealt(partial(dirichlet, alpha=alpha), seed=seed)) for seed in range(3)])
    low, median, high, share, held = found.mean(axis=0)
    assert smallest[0] <= low <= smallest[1]
    assert largest[0] <= high <= largest[1]
    assert share == pytest.approx(main, abs=0.025)
    assert held == pytest.approx(classes, abs=0.35)
    assert alpha != 0.5 or median == pytest.approx(510, abs=25)


@pytest.mark.parametrize("rule", [iid, dirichlet])
def test_the_generator_alone_decides(rule):
    one, again, other = (dealt(rule, np.arange(500) % 10, 5, seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("rule", [iid, dirichlet])
def test_more_clients_than_examples_are_refused(rule):
    with pytest.raises(InputError, match="5 clients need at least as many examples; got 4"):
        dealt(rule, np.arange(4), 5)


@pytest.mark.parametrize("alpha", [0, -1.0, float("inf"), float("nan")])
def test_an_alpha_that_is_not_above_0_is_refused(alpha):
    with pytest.raises(InputError, match="must be a finite number above 0; got"):
        dealt(partial(dirichlet, alpha=alpha))


def test_a_split_that_cannot_be_drawn_says_what_to_change():
    with pytest.raises(InputError, match="take fewer clients, a larger alpha or a smaller n_least"):
        dealt(dirichlet, np.zeros(20), 10)
