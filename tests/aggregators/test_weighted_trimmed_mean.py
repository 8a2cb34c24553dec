import numpy as np
import pytest

from holdfast import InputError, defend, trimmed_mean
from holdfast.aggregators import weighted_trimmed_mean
from holdfast.updates import rows_of


def test_a_value_at_the_boundary_counts_with_what_is_left_of_its_weight():
    # 16 examples, 4 trimmed at each end: 1 and 3 of the 6 go, then 100 and 2 of the 5 of 4.
    rows = np.array([[1.0], [2.0], [3.0], [4.0], [100.0]])
    assert (
        weighted_trimmed_mean(rows, alpha=0.25, weights=[1, 6, 2, 5, 2]).update == (3 * 2 + 2 * 3 + 3 * 4) / 8
    )


@pytest.mark.parametrize(("n", "alpha"), [(20, 0.25), (10, 0.1), (9, 0.0), (30, 0.4)])
def test_equal_counts_give_the_trimmed_mean(n, alpha):
    rows = np.random.default_rng(n).normal(size=(n, 200))
    got = weighted_trimmed_mean(rows, alpha=alpha, weights=[7] * n)
    plain = trimmed_mean(rows, alpha=alpha)
    np.testing.assert_allclose(got.update, plain.update, rtol=0, atol=1e-14)
    assert got.diagnostics.tolerates == plain.diagnostics.tolerates
    assert got.diagnostics.covered == plain.diagnostics.covered


def test_it_says_how_many_of_the_heaviest_stay_below_what_is_trimmed():
    rows = np.random.default_rng(0).normal(size=(6, 4))
    assert weighted_trimmed_mean(rows, alpha=0.25, weights=[1, 1, 1, 1, 4, 4]).diagnostics.tolerates == 0
    said = weighted_trimmed_mean(rows, alpha=0.3, weights=[2, 2, 1, 1, 2, 2]).diagnostics
    assert (said.covered, said.tolerates, said.notes) == (True, 1, ())
    said = weighted_trimmed_mean(rows, alpha=0.25, weights=[1, 1, 1, 1, 1, 5]).diagnostics
    assert said.covered is False
    assert said.notes == (
        "one client has 50% of the weight, but 25% is trimmed at each end: it can move the mean alone",
    )


def test_clients_with_as_much_weight_as_is_trimmed_cannot_leave_the_range_of_the_others():
    rng = np.random.default_rng(0)
    rows, weights = rng.normal(size=(10, 50)).astype(np.float32), rng.integers(1, 50, size=10)
    rows[:3] = [[1e38], [-1e38], [3e38]]
    alpha = weights[:3].sum() / weights.sum()
    update = weighted_trimmed_mean(rows, alpha=alpha, weights=weights).update
    assert ((rows[3:].min(axis=0) <= update) & (update <= rows[3:].max(axis=0))).all()


def test_a_count_that_lies_buys_no_more_than_the_cap():
    rows = {f"c{i}": np.array([1.0 + i / 100]) for i in range(9)} | {"eve": np.array([1e6])}
    claims = dict.fromkeys(rows, 10) | {"eve": 10**8}
    result = defend(rows, weighted_trimmed_mean(alpha=0.46), like=np.zeros(1), weights=claims)
    assert abs(result.update[0] - 1) < 1
    assert "count as" in " ".join(result.diagnostics.notes)


def test_a_share_that_cannot_be_trimmed_is_refused():
    with pytest.raises(InputError, match=r"alpha, the share trimmed at each end, must be in \[0, 0.5\)"):
        weighted_trimmed_mean(np.ones((3, 2)), alpha=0.5)


def test_clients_are_measured_on_the_way():
    rows = np.array([[0.0, 9.0], [1.0, 2.0], [2.0, 3.0], [9.0, 1.0]])
    said = weighted_trimmed_mean(rows_of(rows, explain=True), alpha=0.2, weights=[2, 3, 3, 2]).diagnostics
    assert said.trimmed_share.tolist() == [1.0, 0.0, 0.0, 1.0]
