import pytest

from holdfast.runs.spread import Spread


def test_a_spread_needs_all_its_numbers():
    assert Spread.of([0.5, None]) is None
    assert Spread.of([]) is None
    assert Spread.of([0.25, 0.75]) == Spread(0.5, 0.25, 0.75, 0.125**0.5, 0.125, (0.25, 0.75))


def test_the_variance_is_that_of_a_sample_as_the_paper_prints_it():
    assert Spread.of([1.0, 0.0, 0.0]).variance == pytest.approx(1 / 3)
    assert Spread.of([1.0, 1.0, 0.0]).variance == pytest.approx(1 / 3)


def test_one_number_does_not_spread():
    assert Spread.of([0.5]) == Spread(0.5, 0.5, 0.5, 0.0, 0.0, (0.5,))
