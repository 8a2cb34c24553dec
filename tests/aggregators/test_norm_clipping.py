import numpy as np
import pytest

from holdfast import InputError, norm_clipping


def test_a_long_update_counts_like_a_median_one():
    rows = np.eye(5)
    rows[4] *= 1e6
    np.testing.assert_allclose(norm_clipping(rows).update, np.full(5, 0.2))


def test_updates_of_zeros_stay_zeros():
    assert not norm_clipping(np.zeros((3, 2))).update.any()


def test_a_limit_is_positive():
    with pytest.raises(InputError, match="max_norm must be"):
        norm_clipping(np.ones((2, 1)), max_norm=-1.0)
