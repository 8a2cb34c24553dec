import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.theory import cantelli_flip, gaussian_flip, printed_flip


def test_gaussian_noise_flips_one_and_two_sigma_as_in_the_tables():
    np.testing.assert_allclose(gaussian_flip([1, 2, -2], 1), [0.158655, 0.0227501, 0.0227501], rtol=1e-5)


def test_the_far_tail_keeps_its_digits():
    assert gaussian_flip(20.0, 1.0) == pytest.approx(2.7536241186062337e-89, rel=1e-12)


def test_gaussian_flips_are_what_a_generator_gives():
    rng, n = np.random.default_rng(1), 100_000
    for mean in (0.2, 0.7, 1.5):
        p = gaussian_flip(mean, 1.3)
        flipped = (rng.normal(mean, 1.3, n) < 0).mean()
        assert abs(flipped - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_cantelli_bounds_the_gaussian_and_is_attained():
    mean = np.linspace(0.1, 4, 50)
    assert (gaussian_flip(mean, 1.0) < cantelli_flip(mean, 1.0)).all()
    # Mean m, deviation s: the value just below zero with chance s^2 / (s^2 + m^2), else m + s^2 / m.
    m, s = 1.5, 2.0
    p = cantelli_flip(m, s)
    values, chances = np.array([0.0, m + s**2 / m]), np.array([p, 1 - p])
    assert chances @ values == pytest.approx(m)
    assert chances @ (values - m) ** 2 == pytest.approx(s**2)


def test_the_printed_line_can_lie_below_the_truth():
    flatness, mean, noise = 4.0, 0.1, 1.0
    assert mean <= flatness
    assert printed_flip(flatness, noise) < gaussian_flip(mean, noise)


def test_noise_must_be_there():
    with pytest.raises(InputError, match="noise must be finite and above 0; got 0"):
        gaussian_flip(1.0, 0.0)
    with pytest.raises(InputError, match="flatness must be finite and above 0; got -1"):
        printed_flip(-1.0, 1.0)
