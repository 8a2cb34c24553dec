"""Honest minorities: the same examples in another form, with the labels that they have.

Each function takes examples and returns them as a minority of the clients has them: another camera, another
scale, another dialect. The difference is real and lasting, and all of the minority share it, as attackers
share theirs; but its labels are correct.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole, whole_share
from ...errors import InputError
from .dataset import Dataset
from .twitter import FIRST

__all__ = ["dialect", "shifted", "turned"]

Array = NDArray[Any]


def turned(examples: Array, *, quarters: int = 3) -> Array:
    """Return images turned by quarters of a circle, counterclockwise.

    The edge cases of `digits` are turned by one quarter. A minority with `quarters=1` holds such images with
    their correct labels: the hardest to tell from those who attack.

    >>> turned(np.array([[[[1, 2], [3, 4]]]]), quarters=1)[0, 0].tolist()
    [[2, 4], [1, 3]]
    """
    check_whole("quarters", quarters, at_least=1, at_most=3)
    if examples.ndim != 4 or examples.shape[2] != examples.shape[3]:
        raise InputError(
            f"turned needs square images, (n, channels, size, size); examples have shape {examples.shape}"
        )
    return np.rot90(examples, quarters, axes=(2, 3)).copy()


def shifted(
    examples: Array, *, data: Dataset, share: float = 0.5, by: float = 1.0, seed: int = 2024
) -> Array:
    """Return a table in which a share of the features, always the same, is higher by so many deviations.

    >>> from holdfast.lab.data import phishing
    >>> data = phishing(n_train=500, n_test=100)
    >>> rise = shifted(data.x_test, data=data, share=0.2, by=3.0) - data.x_test
    >>> np.unique(rise.mean(axis=0).round(), return_counts=True)
    (array([0., 3.], dtype=float32), array([36,  9]))
    """
    if data.vectors is not None or examples.ndim != 2:
        raise InputError(f"shifted needs a table of features; examples have shape {examples.shape}")
    changed = examples.copy()
    changed[:, _drawn(examples.shape[1], share, seed)] += by
    return changed


def dialect(examples: Array, *, data: Dataset, n_words: int = 300) -> Array:
    """Return texts in which the most common words have changed places with the rarest that anybody uses.

    >>> texts = np.array([[2, 3, 2, 4], [2, 3, 5, 2]])
    >>> data = Dataset(texts, [0, 1], texts, [0, 1], vectors=np.zeros((9, 3)))
    >>> dialect(texts, data=data, n_words=1).tolist()
    [[5, 3, 5, 4], [5, 3, 2, 5]]
    """
    if data.vectors is None:
        raise InputError(
            "dialect needs texts, whose examples are rows of word vectors; this data set has none"
        )
    counts = np.bincount(data.x_train.astype(np.intp).ravel(), minlength=len(data.vectors))
    used = np.flatnonzero(counts[FIRST:]) + FIRST
    by_use = used[np.argsort(-counts[used], kind="stable")]
    check_whole("n_words", n_words, at_least=1, at_most=len(used) // 2)
    new = np.arange(len(counts))
    new[by_use[:n_words]], new[by_use[::-1][:n_words]] = by_use[::-1][:n_words], by_use[:n_words]
    return new[examples.astype(np.intp)].astype(examples.dtype)


def _drawn(of: int, share: float, seed: int) -> Array:
    """Return which of so many a share is, the same for the same seed."""
    if not 0 < share <= 1:
        raise InputError(f"share must be above 0 and at most 1; got {share!r}")
    return np.random.default_rng(seed).choice(of, size=whole_share(share, of), replace=False)
