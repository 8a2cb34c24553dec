import numpy as np
import pytest

from holdfast import InputError
from holdfast.aggregators import fed_seca

from .. import naive_weighted


def test_a_worked_example():
    # The signs of the first three agree in most coordinates; those of the last differ from each of them in
    # most. Votes: 3 - 1 each, and 1 - 3, which counts as none. Elected are +, -, +. Lengths are 3, 3, 3 and
    # 9, so that the last is a third of what it was.
    rows = np.array([[2.0, -2.0, 1.0], [1.0, -2.0, 2.0], [2.0, -1.0, -2.0], [-8.0, 4.0, 1.0]])
    result = fed_seca(rows, kept=1.0)
    # Magnitudes are then (2, 1, 2, 8/3), (2, 2, 1, 4/3) and (1, 2, 2, 1/3), with lower medians 2, 4/3 and 1.
    np.testing.assert_allclose(result.update, [5 / 3, -(4 / 3 + 4 / 3 + 1) / 3, (1 + 1 + 1 / 3) / 3])
    assert result.diagnostics.kept_fraction == 1
    assert result.diagnostics.notes == ("3 of 4 clients have a vote",)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kept", [0.1, 0.37, 1.0])
def test_it_agrees_with_its_slow_twin(seed, kept):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(int(rng.integers(1, 14)), 301)) + rng.normal(size=301)
    rows[rng.random(rows.shape) < 0.2] = 0
    rows[: len(rows) // 3] *= -20
    np.testing.assert_allclose(
        fed_seca(rows, kept=kept).update, naive_weighted.fed_seca(rows, kept), atol=1e-12
    )


def test_clients_against_the_crowd_have_no_vote_and_no_magnitude_counts_more_than_the_middle_one():
    rng = np.random.default_rng(0)
    honest = rng.normal(size=400) + 0.2 * rng.normal(size=(9, 400))
    rows = np.vstack([honest, [-1e30 * honest[0]] * 3])
    result = fed_seca(rows, kept=1.0)
    assert "9 of 12 clients have a vote" in result.diagnostics.notes
    majority = np.sign(np.sign(honest).sum(axis=0))
    assert (result.update * majority >= 0).all()
    assert (np.abs(result.update) <= np.abs(honest).max(axis=0)).all()


def test_where_nobody_has_a_vote_the_update_is_zero_and_says_so():
    result = fed_seca(np.zeros((3, 4)))
    assert not result.update.any()
    assert "the update is zero" in result.diagnostics.notes[0]


def test_only_the_largest_magnitudes_of_a_client_count():
    rows = np.tile(np.arange(1.0, 11.0), (3, 1))
    np.testing.assert_array_equal(fed_seca(rows, kept=0.2).update, [0] * 8 + [9, 10])


def test_a_share_that_is_none_is_refused():
    with pytest.raises(InputError, match="kept, the share of coordinates"):
        fed_seca(np.ones((3, 2)), kept=0.0)
