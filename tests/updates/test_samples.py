import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from holdfast.updates.samples import RUN, sample_of


@given(dim=st.integers(1, 500), size=st.integers(1, 300), seed=st.integers(0, 2**31 - 1))
def test_a_sample_holds_runs_of_coordinates_in_order_each_once(dim, size, seed):
    where = sample_of(dim, size=size, seed=seed)
    assert (np.diff(where) > 0).all()
    assert where[0] >= 0
    assert where[-1] < dim
    assert size - RUN < len(where) <= size if dim > size else len(where) == dim
    np.testing.assert_array_equal(where, sample_of(dim, size=size, seed=seed))


def test_samples_of_different_seeds_differ_and_cover_everything():
    samples = [sample_of(1000, size=160, seed=seed) for seed in range(60)]
    assert len({sample.tobytes() for sample in samples}) == 60
    assert set(np.concatenate(samples)) == set(range(1000))
