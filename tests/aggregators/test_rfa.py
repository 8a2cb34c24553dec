import numpy as np
import pytest

from holdfast import InputError, rfa


def test_four_rows_of_1e38_in_twenty_move_it_by_less_than_an_honest_row_is_long():
    rows = np.random.default_rng(0).normal(size=(20, 100)).astype(np.float32)
    clean = rfa(rows[:16]).update
    rows[16:] = 1e38
    assert np.linalg.norm(rfa(rows).update - clean) < 4  # rows are 10 long
    rows[11:16] = -1e38
    assert np.abs(rfa(rows).update).max() < 10


def test_a_median_that_has_not_settled_is_pointed_out():
    rows = np.random.default_rng(0).normal(size=(10, 50))
    rows[9] = 1e6
    said = rfa(rows, n_steps=1).diagnostics
    assert said.covered is False
    assert "stopped after 1 steps" in said.notes[0]
    assert rfa(rows).diagnostics.covered


def test_a_client_with_most_of_the_examples_is_not_tolerated():
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert rfa(rows).diagnostics.tolerates == 2
    said = rfa(rows, weights=[100, 1, 1, 1, 1]).diagnostics
    assert said.tolerates == 0
    assert said.covered is False
    assert "96% of all examples" in said.notes[0]


def test_settings_are_checked():
    for wrong in ({"n_steps": 0}, {"smoothing": 0.0}, {"tolerance": -1.0}):
        with pytest.raises(InputError):
            rfa(np.ones((3, 2)), **wrong)
