import numpy as np
import pytest

from holdfast import InputError, multi_krum

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
    with pytest.raises(InputError, match="n_selected must be at most the number of clients, 9; got 10"):
        multi_krum(ROWS, n_malicious=2, n_selected=10)
