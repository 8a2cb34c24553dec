"""Honest minorities: the same examples in another form, with the labels that they have.

Each function takes examples and returns them as a minority of the clients has them: from another camera, in
another vocabulary, in another dialect. All of the minority differ from the others in the same way, in every
round, as attackers do; but their labels are correct.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from .dataset import Dataset
from .twitter import FIRST, PADDING

__all__ = ["dialect", "inverted", "reordered", "turned"]

Array = NDArray[Any]


def inverted(examples: Array, *, data: Dataset) -> Array:
    """Return images in negative: dark where they were bright.

    >>> from holdfast.lab.data import digits
    >>> data = digits()
    >>> image = np.zeros((1, 1, 8, 8), np.float32)
    >>> inverted(image, data=data).min()
    np.float32(1.0)
    """
    if examples.ndim != 4 or data.span is None:
        raise InputError(
            f"inverted needs images, (n, channels, height, width); examples have shape {examples.shape}"
        )
    low, high = data.span
    return np.asarray(low + high - examples)


def turned(examples: Array, *, quarters: int = 1) -> Array:
    """Return images turned by quarters of a circle, counterclockwise.

    The edge cases of `digits` are sevens turned by one quarter: a minority that holds such images with their
    correct labels is the hardest to tell from those who attack.

    >>> turned(np.array([[[[1, 2], [3, 4]]]]))[0, 0].tolist()
    [[2, 4], [1, 3]]
    """
    check_whole("quarters", quarters, at_least=1, at_most=3)
    if examples.ndim != 4 or examples.shape[2] != examples.shape[3]:
        raise InputError(
            f"turned needs square images, (n, channels, size, size); examples have shape {examples.shape}"
        )
    return np.rot90(examples, quarters, axes=(2, 3)).copy()


def reordered(examples: Array, *, data: Dataset, seed: int = 2024) -> Array:
    """Return a table whose features have changed places, as if words stood for other words.

    >>> from holdfast.lab.data import phishing
    >>> data = phishing(n_train=500, n_test=100)
    >>> there = reordered(np.arange(45.0)[None], data=data)[0]
    >>> (there == np.arange(45)).sum() < 10, sorted(there) == list(range(45))
    (np.True_, True)
    """
    if data.vectors is not None or examples.ndim != 2:
        raise InputError(f"reordered needs a table of features; examples have shape {examples.shape}")
    return examples[:, np.random.default_rng(seed).permutation(examples.shape[1])]


def dialect(examples: Array, *, data: Dataset) -> Array:
    """Return texts with a filler after every word, the rarest word in use, as far as they have room for it.

    >>> texts = np.array([[2, 3, 2, 0, 0], [2, 4, 2, 3, 0]])
    >>> data = Dataset(texts, [0, 1], texts, [0, 1], vectors=np.zeros((9, 3)))
    >>> dialect(texts, data=data).tolist()
    [[2, 4, 3, 4, 2], [2, 4, 4, 4, 2]]
    """
    if data.vectors is None:
        raise InputError("dialect needs texts, of rows of word vectors; this data set has no vectors")
    counts = np.bincount(data.x_train.astype(np.intp).ravel())
    used = np.flatnonzero(counts[FIRST:]) + FIRST
    changed = np.repeat(examples, 2, axis=1)[:, : examples.shape[1]]
    second = changed[:, 1::2]
    second[second != PADDING] = used[counts[used].argmin()]
    return changed
