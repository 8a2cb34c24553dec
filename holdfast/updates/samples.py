"""Which coordinates stand for all of them where a memory of each client would be too large."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["sample_of"]

#: The sample consists of runs of neighbouring coordinates, which are read from a file at once.
RUN = 8


def sample_of(dim: int, *, size: int, seed: int) -> NDArray[np.int64]:
    """Return which coordinates are remembered, in order: all of them, or runs of a secret sample.

    >>> sample_of(3, size=10, seed=0), len(sample_of(10_000, size=80, seed=0))
    (array([0, 1, 2]), 80)
    """
    if dim <= size:
        return np.arange(dim)
    runs = np.random.default_rng(seed).choice(max(1, dim // RUN), size=max(1, size // RUN), replace=False)
    return (np.sort(runs)[:, None] * RUN + np.arange(min(RUN, size))).ravel()
