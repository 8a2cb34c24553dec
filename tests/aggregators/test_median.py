import numpy as np
import pytest

from holdfast import median


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 20, 31])
def test_it_is_the_median_of_numpy(n):
    rows = np.random.default_rng(n).normal(size=(n, 40))
    np.testing.assert_allclose(median(rows).update, np.median(rows, axis=0), rtol=1e-14)


def test_it_stands_almost_half():
    assert median(np.ones((9, 1))).diagnostics.tolerates == 4
    assert median(np.ones((2, 1))).diagnostics.covered is False
