import numpy as np
import pytest

from holdfast import InputError, defend, rlr
from holdfast.errors import TooFewClientsError


def test_coordinates_without_agreement_go_backwards():
    rows = np.array([[1.0, 3.0], [1.0, 3.0], [1.0, -1.0], [1.0, -1.0]])
    result = rlr(rows, threshold=2)
    np.testing.assert_array_equal(result.update, [1.0, -1.0])
    assert result.diagnostics.kept_fraction == 0.5


def test_coordinates_that_mostly_go_backwards_are_pointed_out():
    rows = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0]])
    assert "100.0% of the coordinates go backwards" in rlr(rows, threshold=3).diagnostics.notes[0]


def test_clients_that_drop_out_never_reverse_the_update():
    rows = np.random.default_rng(1).normal(1, 0.1, size=(10, 100))
    rows[:3] = np.nan
    assert defend(rows, rlr(threshold=7)).update.mean() > 0.9
    rows[3] = np.nan
    result = defend(rows, rlr(threshold=7))
    assert not result.diagnostics.aggregated
    assert "got 6 clients, threshold=7" in result.diagnostics.notes[0]
    assert not result.update.any()
    with pytest.raises(TooFewClientsError):
        rlr(np.ones((3, 2)), threshold=4)


def test_a_threshold_is_a_count():
    with pytest.raises(InputError, match="threshold must be a whole number"):
        rlr(np.ones((3, 2)), threshold=0.5)
