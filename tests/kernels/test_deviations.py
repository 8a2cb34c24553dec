"""Deviations that are made on the way, against NumPy's whole arrays of them."""

import numpy as np
import pytest

from holdfast.kernels.deviations import Deviations


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    values, middle = rng.normal(size=(13, 1001)).astype(np.float32), rng.normal(size=1001).astype(np.float32)
    values[0] = np.finfo(np.float32).max / 4
    unit = rng.random(1001) + 1e-40
    return Deviations(values, middle, unit), (values.astype(np.float64) - middle) / unit


@pytest.mark.parametrize("threads", ["1", "3"])
def test_lengths_are_those_of_the_rows_cut_off_and_added_up_in_order(drawn, threads, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", threads)
    far, expected = drawn
    squares = [np.cumsum(np.clip(expected, -cut, cut) ** 2, axis=1)[:, -1] for cut in (1.0, 3.0)]
    np.testing.assert_array_equal(far.lengths(cuts=(1.0, 3.0)), np.sqrt(squares))


@pytest.mark.parametrize("threads", ["1", "3"])
@pytest.mark.parametrize("cut", [1.0, 3.0])
def test_what_was_before_moves_towards_the_deviations(drawn, cut, threads, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", threads)
    far, expected = drawn
    rng = np.random.default_rng(1)
    before = rng.integers(-24_576, 24_577, size=expected.shape).astype(np.int16)
    kept, factors, paces = before.copy(), 8192 * rng.random(13), 1 / rng.integers(1, 11, size=13)
    told = factors[:, None] * np.clip(expected, -cut, cut)
    moved = np.rint(before + paces[:, None] * (told - before))
    found = far.blended(before, cut=cut, factors=factors, paces=paces)
    np.testing.assert_array_equal(found, moved.astype(np.int16))
    np.testing.assert_array_equal(before, kept)
    assert all(row.base is None for row in found)  # each lies by itself, and can be forgotten by itself
