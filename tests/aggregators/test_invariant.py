import numpy as np
import pytest

from holdfast import InputError, invariant, trimmed_mean
from holdfast.aggregators.invariant import PUBLISHED


def updates(n=20, dim=400, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)) + 0.5


def test_the_published_settings_are_named():
    assert {name: tuple(pair.values()) for name, pair in PUBLISHED.items()} == {
        "cifar10": (0.2, 0.25),
        "twitter": (0.6, 0.25),
        "phishing": (0.6, 0.25),
        "released_code": (0.6, 0.45),
    }
    for pair in PUBLISHED.values():
        invariant(**pair)(updates())


def test_the_released_setting_averages_the_two_middle_rows():
    rows = updates()
    result = invariant(rows, **PUBLISHED["released_code"]).update
    np.testing.assert_allclose(result[result != 0], np.median(rows, axis=0)[result != 0])


@pytest.mark.parametrize(
    ("name", "n", "covered"),
    [("cifar10", 20, False), ("phishing", 20, True), ("twitter", 15, True), ("released_code", 20, True)],
)
def test_it_says_which_published_settings_the_guarantee_covers(name, n, covered):
    said = invariant(updates(n), **PUBLISHED[name]).diagnostics
    assert said.covered is covered
    assert any("tau >= 0.5 rules that out" in note for note in said.notes) is not covered


def test_it_says_when_the_mask_does_nothing_or_everything():
    assert "not tied" in " ".join(invariant(updates(3), tau=0.2).diagnostics.notes)
    assert "almost nothing" in " ".join(invariant(updates() - 0.5, tau=1.0).diagnostics.notes)
    assert "no coordinate can ever move" in " ".join(
        invariant(updates(), tau=1.0, strict=True).diagnostics.notes
    )
    assert "hardly does anything" in " ".join(invariant(updates() + 9).diagnostics.notes)


def test_few_clients_are_said_to_be_unprotected():
    for n in (1, 2):
        said = invariant(updates(n)).diagnostics
        assert not said.covered
        assert "nothing is trimmed" in said.notes[0]


def test_coordinates_that_pass_are_the_trimmed_mean():
    rows = updates()
    masked, plain = invariant(rows).update, trimmed_mean(rows).update
    assert 0 < np.count_nonzero(masked) < masked.size
    np.testing.assert_array_equal(masked[masked != 0], plain[masked != 0])


@pytest.mark.parametrize("settings", [{"tau": 1.5}, {"alpha": 0.5}, {"tau": "a"}])
def test_settings_out_of_range_are_refused(settings):
    with pytest.raises(InputError):
        invariant(updates(), **settings)
