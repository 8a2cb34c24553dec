"""How a trained model answers: scores in, labels out. -1 declines."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

__all__ = ["confident", "most_likely"]


def most_likely(scores: NDArray[Any]) -> NDArray[np.intp]:
    """Return the label with the highest score.

    >>> most_likely(np.array([[0.1, 2.0], [1.0, 0.0]]))
    array([1, 0])
    """
    return np.asarray(scores.argmax(axis=1))


def confident(scores: NDArray[Any], *, threshold: float = 0.4) -> NDArray[np.intp]:
    """Return the label with the highest score, or -1 where its probability is below the threshold.

    FLIP's abstaining prediction, Zhang et al., 2023, https://arxiv.org/abs/2210.12873

    >>> confident(np.array([[9.0, 0.0, 0.0], [0.1, 0.0, 0.0]]))
    array([ 0, -1])
    """
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is a probability, in [0, 1]; got {threshold!r}")
    shifted = scores - scores.max(axis=1, keepdims=True)
    top = 1 / np.exp(shifted).sum(axis=1)
    return np.where(top >= threshold, most_likely(scores), -1)
