import sys

import numpy as np
import pytest

from holdfast import InputError, sparsefed
from holdfast.aggregators.sparsefed import largest


def test_few_coordinates_move_and_the_others_wait_their_turn():
    rows = np.tile(np.array([5.0, 4.0, 3.0, 2.0]), (3, 1))
    first = sparsefed(rows, kept=0.25, momentum=0.0)
    second = sparsefed(rows, kept=0.25, momentum=0.0, state=first.state)
    assert first.update.tolist() == [5, 0, 0, 0]
    assert second.update.tolist() == [0, 8, 0, 0]
    assert first.diagnostics.kept_fraction == 0.25


def test_the_limit_is_the_median_of_all_lengths_so_far():
    first = sparsefed(np.eye(3), kept=1.0, momentum=0.0)
    second = sparsefed(100 * np.eye(3), kept=1.0, momentum=0.0, state=first.state)
    np.testing.assert_allclose(second.update, np.full(3, 50.5 / 3))
    assert second.state.norms.tolist() == [1, 1, 1, 100, 100, 100]


def test_ties_go_to_the_lowest_coordinate():
    [taken] = largest(np.array([1.0, -2.0, 2.0, 2.0]), 2)
    assert taken.tolist() == [False, True, True, False]


def test_a_state_of_another_model_is_refused():
    state = sparsefed(np.ones((2, 5))).state
    with pytest.raises(InputError, match="state is of a model with 5 numbers; these updates have 4"):
        sparsefed(np.ones((2, 4)), state=state)


def test_what_is_no_state_is_refused():
    with pytest.raises(InputError, match="must be what sparsefed returned last round; got dict"):
        sparsefed(np.ones((2, 4)), state={})
    state = sparsefed(np.ones((2, 4))).state
    state.error[0] = np.nan
    with pytest.raises(InputError, match="state holds NaN"):
        sparsefed(np.ones((2, 4)), state=state)


def test_the_state_keeps_the_type_of_the_updates():
    rows = np.ones((2, 4), dtype=np.float32)
    assert sparsefed(rows, momentum=np.float64(0.9)).state.error.dtype == np.float32


@pytest.mark.parametrize(
    "wrong", [{"kept": "a"}, {"kept": True}, {"kept": 0}, {"kept": 1.5}, {"momentum": 1.0}, {"max_norm": 0.0}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(InputError):
        sparsefed(np.ones((2, 4)), **wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_are_those_of_a_stable_sort_however_many_pieces(dtype, monkeypatch):
    monkeypatch.setattr(sys.modules["holdfast.aggregators.sparsefed"], "PIECE", 64)
    rng = np.random.default_rng(0)
    for count in (1, 7, 150, 299, 300):
        values = rng.normal(size=300).astype(dtype) * dtype(10.0) ** rng.integers(-30, 30, 300)
        values[rng.integers(300, size=120)] = rng.choice([0.0, -2.0, 2.0], size=120)
        expected = np.zeros(300, dtype=bool)
        expected[np.argsort(-np.abs(values), kind="stable")[:count]] = True
        np.testing.assert_array_equal(np.concatenate(list(largest(values, count))), expected)
