"""Student's t against SciPy's, and in its far tail, where one minus the rest has no digits left."""

import math

import numpy as np
import pytest
from scipy import stats

from holdfast.errors import InputError
from holdfast.theory.student import student_quantile, student_tail

DEGREES = range(1, 201)


@pytest.mark.parametrize("t", [0.0, 0.03, 0.5, 1.0, 1.7, 2.0, 4.3, 12.7, 60.0, 1e3, 1e6])
def test_the_tail_is_scipys_for_every_number_of_degrees_and_both_signs(t):
    for sign in (1, -1):
        expected = stats.t.sf(sign * t, DEGREES)
        found = [student_tail(sign * t, degrees=degrees) for degrees in DEGREES]
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("chance", [0.5, 0.95, 0.975, 0.9999, 1e-9])
def test_the_quantile_is_scipys_for_every_number_of_degrees(chance):
    found = [student_quantile(chance, degrees=degrees) for degrees in DEGREES]
    np.testing.assert_allclose(found, stats.t.ppf(chance, DEGREES), rtol=1e-10, atol=1e-15)


def test_the_quantile_inverts_the_tail():
    for degrees in (1, 2, 3, 30):
        t = student_quantile(0.025, degrees=degrees)
        assert t == pytest.approx(-student_quantile(0.975, degrees=degrees), rel=1e-14)
        assert student_tail(-t, degrees=degrees) == pytest.approx(0.025, rel=1e-13)


def test_a_rare_event_keeps_its_digits():
    assert student_tail(1e6, degrees=1) == pytest.approx(1e-6 / math.pi, rel=1e-12)
    assert student_tail(math.inf, degrees=3) == 0.0


def test_close_to_the_middle_the_tail_falls_by_the_density():
    # SciPy says exactly a half here.
    assert 0.5 - student_tail(1e-9, degrees=1) == pytest.approx(1e-9 / math.pi, rel=1e-6)
    assert student_quantile(0.5 + 1e-9, degrees=1) == pytest.approx(math.pi * 1e-9, rel=1e-6)


@pytest.mark.parametrize("chance", [0.0, 1.0, -0.1, math.nan])
def test_a_quantile_is_of_a_chance_between_none_and_certainty(chance):
    with pytest.raises(InputError, match=r"chance must be above 0 and below 1; got "):
        student_quantile(chance, degrees=2)


def test_the_tail_beyond_no_number_is_refused():
    with pytest.raises(InputError, match="t must be a number; got nan"):
        student_tail(math.nan, degrees=2)


@pytest.mark.parametrize("degrees", [0, 2.5, True])
def test_degrees_of_freedom_are_whole(degrees):
    with pytest.raises(InputError, match=r"degrees must be a whole number of at least 1; got "):
        student_tail(1.0, degrees=degrees)
