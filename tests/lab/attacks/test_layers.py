import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.attacks import lp_attack
from holdfast.lab.attacks.layers import critical_layers

LAYERS = [("first", slice(0, 3)), ("second", slice(3, 5)), ("third", slice(5, 9)), ("last", slice(9, 10))]
#: How much of the backdoor each layer of a bad update carries.
CARRIES = {"first": 0.1, "second": 0.5, "third": 0.05, "last": 0.35}


def trial(update):
    """Return the success of an update: what the layers carry in which it is bad, that is, above 10."""
    return 0.9, sum(CARRIES[name] for name, place in LAYERS if (update[place] > 10).all())


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(3, 10)).astype(np.float32)
    return 20 + rng.normal(size=(3, 10)).astype(np.float32), clean


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.4, ["second"]), (0.8, ["second", "last"]), (0.9, ["second", "last", "first"]), (1.0, 4)],
)
def test_the_layers_that_carry_most_are_taken_until_they_carry_the_share(rows, share, expected):
    bad, clean = rows
    found = critical_layers(bad[0], clean[0], share=share, layers=LAYERS, trial=trial)
    names = [name for place in found for name, own in LAYERS if own == place]
    assert names == expected if isinstance(expected, list) else len(names) == expected


def test_critical_layers_are_the_attackers_own_and_all_others_the_mean_honest_update(rows):
    bad, clean = rows
    sent = lp_attack(bad, rehearsal=clean, layers=LAYERS, trial=trial)
    critical = np.r_[3:5, 9]
    np.testing.assert_array_equal(sent[:, critical], bad[:, critical])
    others = np.setdiff1d(np.arange(10), critical)
    mean = clean.mean(axis=0, dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(sent[:, others], np.tile(mean[others], (3, 1)))
    assert sent.dtype == np.float32


@pytest.mark.parametrize(("scale", "honest"), [(3.0, 0.0), (0.25, 0.75), (0.0, 1.0)])
def test_the_scale_weighs_the_poisoned_layers_and_leaves_the_rest_of_one_to_the_honest(rows, scale, honest):
    bad, clean = rows
    sent = lp_attack(bad, scale=scale, rehearsal=clean, layers=LAYERS, trial=trial)
    expected = scale * bad[:, 3:5] + honest * clean.mean(axis=0)[3:5]
    np.testing.assert_allclose(sent[:, 3:5], expected, rtol=1e-6)


def test_each_attacker_seeks_its_own_layers(rows):
    bad, clean = rows
    bad[1, 3:5] = clean[1, 3:5]  # this one has learned its backdoor elsewhere
    sent = lp_attack(bad, rehearsal=clean, layers=LAYERS, trial=trial)
    mean = clean.mean(axis=0, dtype=np.float64).astype(np.float32)
    np.testing.assert_array_equal(sent[1, 3:5], mean[3:5])
    np.testing.assert_array_equal(sent[0, 3:5], bad[0, 3:5])


def test_who_has_no_success_is_honest(rows):
    bad, clean = rows
    sent = lp_attack(bad, rehearsal=clean, layers=LAYERS, trial=lambda update: (0.9, 0.0))
    np.testing.assert_array_equal(sent, np.tile(sent[0], (3, 1)))
    assert sent.max() < 10


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.1}, {"scale": -1.0}, {"scale": np.inf}])
def test_settings_outside_their_range_are_refused(rows, wrong):
    bad, clean = rows
    with pytest.raises(InputError, match=next(iter(wrong))):
        lp_attack(bad, rehearsal=clean, layers=LAYERS, trial=trial, **wrong)
