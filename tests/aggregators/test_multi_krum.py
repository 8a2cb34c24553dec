import numpy as np
import pytest

from holdfast import defend, krum_trimmed_mean, multi_krum, multi_krum_cosine
from holdfast.errors import TooFewClientsError

ROWS = np.vstack([np.random.default_rng(0).normal(size=(7, 4)), np.full((2, 4), 50.0)])


def test_far_rows_are_left_out():
    result = multi_krum(ROWS, n_malicious=2)
    np.testing.assert_allclose(result.update, ROWS[:7].mean(axis=0))
    assert result.diagnostics.client_weights[7:].tolist() == [0, 0]


def test_a_selection_can_be_weighted_by_examples():
    counts = np.arange(1, 10)
    result = multi_krum(ROWS, n_malicious=2, weighted=True, weights=counts)
    np.testing.assert_allclose(result.update, counts[:7] @ ROWS[:7] / counts[:7].sum())
    unweighted = multi_krum(ROWS, n_malicious=2, weights=counts)
    np.testing.assert_allclose(unweighted.update, ROWS[:7].mean(axis=0))


def test_no_guarantee_is_claimed_for_more_than_the_one_best_row():
    assert multi_krum(ROWS, n_malicious=2, n_selected=1).diagnostics.covered is True
    assert multi_krum(ROWS, n_malicious=2).diagnostics.covered is None
    assert multi_krum(ROWS, n_malicious=4).diagnostics.covered is False
    said = multi_krum(ROWS, n_malicious=2, weighted=True, weights=[1000] + [1] * 8).diagnostics
    assert "99% of all examples" in said.notes[0]
    assert said.selected.tolist() == [True] * 7 + [False] * 2


def test_selecting_one_is_krum_and_more_than_all_is_refused():
    assert (multi_krum(ROWS, n_malicious=2, n_selected=1).diagnostics.client_weights == 1).sum() == 1
    with pytest.raises(TooFewClientsError, match=r"lower it, .* got 9 clients, n_selected=10"):
        multi_krum(ROWS, n_malicious=2, n_selected=10)


@pytest.mark.parametrize("rule", [multi_krum, multi_krum_cosine, krum_trimmed_mean])
def test_a_client_that_drops_out_of_a_selection_of_all_stops_no_round(rule):
    sent = ROWS.copy()
    sent[3, 0] = np.nan
    result = defend(sent, rule(n_malicious=2, n_selected=9))
    assert not result.diagnostics.aggregated
    assert "got 8 clients, n_selected=9" in result.diagnostics.notes[0]
    assert not result.update.any()
    assert defend(sent, rule(n_malicious=2, n_selected=8)).diagnostics.aggregated
