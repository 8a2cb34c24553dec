import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import kernels
from holdfast.updates import rows_of


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@given(
    n=st.integers(1, 23),
    dim=st.sampled_from([1, 5, 127, 128, 1023, 1024, 1025, 3000]),
    seed=st.integers(0, 99),
)
@settings(max_examples=25, deadline=None)
def test_dot_products_are_those_of_numpy_in_float64(dtype, n, dim, seed):
    rng = np.random.default_rng(seed)
    rows = (rng.normal(size=(n, dim)) * 10.0 ** rng.integers(-2, 3, size=(n, 1))).astype(dtype)
    own = rng.normal(size=dim).astype(dtype)
    wide = np.vstack([rows, own]).astype(np.float64)
    lengths = np.outer(np.linalg.norm(wide, axis=1), np.linalg.norm(wide, axis=1))
    products = wide @ wide.T
    assert (np.abs(kernels.gram(rows_of(rows), beside=own) - products) <= 1e-13 * lengths).all()
    assert (np.abs(kernels.gram(rows_of(rows)) - products[:n, :n]) <= 1e-13 * lengths[:n, :n]).all()
    np.testing.assert_allclose(kernels.squared_norms(rows_of(rows)), products.diagonal()[:n], rtol=1e-13)
    squares, dots = kernels.projections(rows_of(rows), own)
    np.testing.assert_allclose(squares, products.diagonal(), rtol=1e-13)
    assert (np.abs(dots - products[-1]) <= 1e-13 * lengths[-1]).all()


def test_products_of_values_near_the_largest_float_do_not_overflow():
    gram = kernels.gram(rows_of(np.full((2, 1000), 3e38, dtype=np.float32)))
    np.testing.assert_allclose(gram, 9e79, rtol=1e-6)
