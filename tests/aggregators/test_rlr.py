import numpy as np
import pytest

from holdfast import InputError, rlr


def test_coordinates_without_agreement_go_backwards():
    rows = np.array([[1.0, 3.0], [1.0, 3.0], [1.0, -1.0], [1.0, -1.0]])
    result = rlr(rows, threshold=2)
    np.testing.assert_array_equal(result.update, [1.0, -1.0])
    assert result.diagnostics.kept_fraction == 0.5


def test_a_threshold_nobody_can_reach_is_pointed_out():
    assert "100.0% of the coordinates go backwards" in rlr(np.ones((3, 2)), threshold=4).diagnostics.notes[0]


def test_a_threshold_is_a_count():
    with pytest.raises(InputError, match="threshold must be a whole number"):
        rlr(np.ones((3, 2)), threshold=0.5)
