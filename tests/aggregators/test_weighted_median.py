import numpy as np

from holdfast import median
from holdfast.aggregators import weighted_median


def test_a_gap_with_half_of_the_weight_below_gives_its_midpoint():
    rows = np.array([[1.0], [2.0], [4.0], [8.0]])
    assert weighted_median(rows, weights=[1, 2, 1, 2]).update == 3
    assert weighted_median(rows, weights=[1, 2, 2, 2]).update == 4
    assert weighted_median(rows, weights=[0, 0, 1, 0]).update == 4


def test_equal_counts_give_the_median_bit_for_bit():
    for n in (1, 2, 9, 20):
        rows = np.random.default_rng(n).normal(size=(n, 200)).astype(np.float32)
        np.testing.assert_array_equal(weighted_median(rows, weights=[3] * n).update, median(rows).update)
        assert weighted_median(rows).diagnostics.tolerates == median(rows).diagnostics.tolerates


def test_less_than_half_of_the_weight_cannot_leave_the_range_of_the_others():
    rows = np.random.default_rng(0).normal(size=(9, 50))
    rows[:2] = [[1e300], [-1e300]]
    update = weighted_median(rows, weights=[3, 3, *[1] * 7]).update
    assert (np.abs(update) <= np.abs(rows[2:]).max(axis=0)).all()


def test_a_client_with_most_of_the_examples_is_not_tolerated():
    said = weighted_median(np.ones((5, 4)), weights=[100, 1, 1, 1, 1]).diagnostics
    assert (said.covered, said.tolerates) == (False, 0)
    assert "96% of all examples" in said.notes[0]
