import numpy as np
import pytest

from holdfast import InputError, defend
from holdfast.aggregators import align_ins

from .. import naive_weighted


def worked():
    """Five clients of four coordinates; worked out by hand below."""
    return np.array(
        [
            [4.0, 3.0, 1.0, 0.0],
            [3.0, 4.0, -1.0, 0.0],
            [4.0, 3.0, 1.0, 1.0],
            [3.0, 4.0, 1.0, -1.0],
            [-40.0, 30.0, 1.0, 0.0],
        ]
    )


def test_a_worked_example():
    # The majority is (+, +, +, 0). At the top two of four coordinates all agree but the last client, with one
    # of two: a median of 1, a standard deviation of 0.2, and it is out. Cosines with the global model are
    # 3 / sqrt(26) = 0.588, 0.784, 3 / sqrt(27) = 0.577, 0.770 and, of the last client, 0.600: a median of
    # 0.600, a standard deviation of 0.093. The second and the fourth are out.
    result = align_ins(worked(), top=0.5, params=np.array([0.0, 1.0, 0.0, 0.0]))
    assert result.diagnostics.selected.tolist() == [True, False, True, False, False]
    limit = (np.sqrt(26) + np.sqrt(27)) / 2
    expected = (worked()[0] + worked()[2] * limit / np.sqrt(27)) / 2
    np.testing.assert_allclose(result.update, expected, rtol=1e-12)
    assert result.diagnostics.notes == ("keeps 2 of 5 clients",)


@pytest.mark.parametrize("seed", range(8))
def test_it_agrees_with_its_slow_twin(seed):
    rng = np.random.default_rng(seed)
    rows, params = rng.normal(size=(12, 301)) + 0.1, rng.normal(size=301)
    rows[:3] = -rows[:3] * 5
    settings = {"top": 0.3, "lambda_s": 1.5, "lambda_c": 1.2}
    got = align_ins(rows, **settings, params=params).update
    np.testing.assert_allclose(got, naive_weighted.align_ins(rows, **settings, params=params), atol=1e-12)
    assert got.any()


def test_clients_who_all_agree_are_all_kept():
    rows = np.tile(np.array([1.0, -2.0, 3.0]), (5, 1))
    np.testing.assert_allclose(align_ins(rows, params=np.ones(3)).update, rows[0], rtol=1e-15)


def test_where_nobody_is_usual_the_update_is_zero_and_says_so():
    result = align_ins(np.array([[1.0, 1.0], [-1.0, 1.0]]), top=1.0, params=np.ones(2))
    assert not result.update.any()
    assert result.diagnostics.notes == ("keeps 0 of 2 clients: the update is zero",)


def test_the_server_passes_its_model_and_without_one_the_rule_says_what_it_lacks():
    rows = np.random.default_rng(0).normal(size=(8, 20))
    base = np.linspace(-1, 1, 20)
    sent = dict(enumerate(rows + base))
    with_model = defend(sent, align_ins, base=base)
    direct = align_ins(rows, params=base)
    np.testing.assert_array_equal(with_model.diagnostics.selected, direct.diagnostics.selected)
    assert "the global model (params) is not known" in align_ins(rows).diagnostics.notes[1]


def test_a_row_of_1e38_is_clipped_like_any_other():
    rows = np.random.default_rng(0).normal(size=(10, 50)).astype(np.float32) + 1
    rows[0] *= np.float32(1e37)
    result = align_ins(rows, lambda_s=9.0, lambda_c=9.0, params=np.ones(50, np.float32))
    assert result.diagnostics.selected.all()
    assert np.linalg.norm(result.update) < 12


@pytest.mark.parametrize("top", [0.0, 1.5, -1, "all"])
def test_a_share_that_is_none_is_refused(top):
    with pytest.raises(InputError, match="top"):
        align_ins(np.ones((3, 2)), top=top)
