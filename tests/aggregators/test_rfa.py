import numpy as np
import pytest

from holdfast import InputError, rfa

from .. import naive


def test_four_rows_of_1e38_in_twenty_move_it_by_less_than_an_honest_row_is_long():
    rows = np.random.default_rng(0).normal(size=(20, 100)).astype(np.float32)
    clean = rfa(rows[:16]).update
    rows[16:] = 1e38
    assert np.linalg.norm(rfa(rows).update - clean) < 4  # rows are 10 long
    rows[11:16] = -1e38
    assert np.abs(rfa(rows).update).max() < 10


@pytest.mark.parametrize(
    ("n", "n_far", "far"), [(20, 9, -1e100), (100, 49, 1e20), (21, 10, 1e150), (1001, 500, 1e30)]
)
def test_just_under_half_of_the_rows_at_any_distance_leave_it_with_the_others(n, n_far, far):
    rows = np.random.default_rng(0).normal(size=(n, 50))
    honest = rows[n_far:].mean(axis=0)
    rows[:n_far] = far
    assert np.linalg.norm(rfa(rows).update - honest) < 200  # rows are 7 long


def test_heavy_clients_at_any_distance_leave_it_with_the_others_who_have_more_than_half_the_weight():
    rows = np.random.default_rng(0).normal(size=(20, 50))
    honest = rows[3:].mean(axis=0)
    rows[:3] = -1e100
    result = rfa(rows, weights=[5] * 3 + [1] * 17)
    assert result.diagnostics.covered
    assert np.linalg.norm(result.update - honest) < 40


def test_without_a_tolerance_it_takes_its_steps_from_the_mean():
    rows = np.random.default_rng(0).normal(size=(10, 5))
    rows[0] = 1e6
    np.testing.assert_allclose(
        rfa(rows, n_steps=2, tolerance=0.0).update, naive.rfa(rows, n_steps=2, smoothing=1e-6)
    )


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


def test_what_has_not_settled_does_not_depend_on_the_order_of_the_clients():
    rows = [[1, 6], [0, 1], [2, 2], [2, 3], [-8, -1], [1, 4], [1, 4], [2, 1], [1, 5]]  # two are the median
    updates = np.array(rows) / 4
    result = rfa(updates)
    assert not result.diagnostics.covered
    for seed in range(5):
        shuffled = np.random.default_rng(seed).permutation(updates)
        np.testing.assert_allclose(rfa(shuffled).update, result.update, atol=1e-10)
