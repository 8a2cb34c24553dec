import numpy as np

from holdfast import invariant
from holdfast.aggregators import weighted_invariant


def test_the_vote_is_by_weight():
    rows = np.array([[1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]])
    update = weighted_invariant(rows, tau=0.6, alpha=0, weights=[4, 4, 2]).update
    np.testing.assert_allclose(update, 0.6, rtol=1e-15)
    assert weighted_invariant(rows, tau=0.61, alpha=0, weights=[4, 4, 2]).update.tolist() == [0, 0]
    assert weighted_invariant(rows, tau=1.0, alpha=0, weights=[1, 1, 0]).update.tolist() == [1, 1]


def test_equal_counts_give_the_invariant_aggregator():
    rows = np.random.default_rng(0).normal(size=(20, 300)) + 0.3
    for tau in (0.0, 0.2, 0.6, 1.0):
        got, plain = weighted_invariant(rows, tau=tau, weights=[7] * 20), invariant(rows, tau=tau)
        np.testing.assert_allclose(got.update, plain.update, rtol=0, atol=1e-14)
        assert got.diagnostics.kept_fraction == plain.diagnostics.kept_fraction
        assert got.diagnostics.covered == plain.diagnostics.covered


def test_it_says_when_a_direction_may_hang_on_magnitudes():
    rows = np.random.default_rng(0).normal(size=(20, 300)) + 0.3
    said = weighted_invariant(rows, tau=0.4).diagnostics
    assert said.covered is False
    assert said.notes[-1] == (
        "a coordinate can pass with 30% of the weight against it, but 25% is trimmed: its direction may hang"
        " on magnitudes; tau >= 0.5 rules that out"
    )
    assert weighted_invariant(rows, tau=0.5).diagnostics.covered


def test_a_mask_that_keeps_next_to_nothing_is_pointed_out():
    rows = np.random.default_rng(0).normal(size=(20, 300))
    assert "almost nothing is learned. Lower tau" in weighted_invariant(rows, tau=1.0).diagnostics.notes[0]
