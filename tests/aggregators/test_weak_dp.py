import numpy as np
import pytest

from holdfast import InputError, weak_dp


def test_noise_follows_its_generator_and_its_size():
    rows = np.zeros((3, 50_000), dtype=np.float32)
    first, again = (weak_dp(rows, sigma=0.1, rng=np.random.default_rng(4)).update for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.std() == pytest.approx(0.1, rel=0.02)


def test_settings_are_checked():
    with pytest.raises(InputError, match="sigma must be"):
        weak_dp(np.ones((2, 1)), sigma=-1.0, rng=np.random.default_rng(0))
