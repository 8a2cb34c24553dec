import numpy as np

from holdfast import trimmed_mean


def test_it_says_how_many_attackers_it_stands():
    said = trimmed_mean(np.ones((20, 2)), alpha=0.25).diagnostics
    assert said.covered
    assert said.tolerates == 5
    assert said.kept_fraction is None


def test_one_huge_value_does_not_cancel_the_rest():
    rows = np.array([[1.0], [2.0], [3.0], [4.0], [1e38]], dtype=np.float32)
    assert trimmed_mean(rows, alpha=0.2).update == 3


def test_huge_doubles_do_not_overflow():
    rows = np.full((9, 2), 1.7e308)
    np.testing.assert_array_equal(trimmed_mean(rows, alpha=0.25).update, rows[0])
    assert np.isfinite(
        trimmed_mean(np.array([[1.7e308], [-1.7e308], [1.7e308], [1.7e308]]), alpha=0).update
    ).all()
