import numpy as np
import pytest

from holdfast import InputError, fltrust


def test_who_points_elsewhere_is_not_heard_and_nobody_is_heard_louder():
    reference = np.array([1.0, 0.0])
    rows = np.array([[50.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    result = fltrust(rows, reference=reference)
    np.testing.assert_allclose(result.update, [1, 0])
    assert np.count_nonzero(result.diagnostics.client_weights) == 1


def test_nobody_trusted_is_a_zero_update_that_is_pointed_out():
    for reference, note in ((np.ones(2), "no client points"), (np.zeros(2), "own update is zero")):
        result = fltrust(-np.ones((3, 2)), reference=reference)
        assert not result.update.any()
        assert note in result.diagnostics.notes[0]


def test_a_reference_whose_length_overflows_is_refused():
    with pytest.raises(InputError, match="so long that its square overflows"):
        fltrust(np.ones((3, 2)), reference=np.full(2, 1e200))


def test_a_reference_of_another_form_is_refused():
    with pytest.raises(InputError, match="reference must have the form of an update"):
        fltrust(np.ones((3, 2)), reference=np.ones(3))
