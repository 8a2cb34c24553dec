"""A stacked LSTM on frozen word vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import nn, torch

__all__ = ["lstm"]


def lstm(
    *, vectors: NDArray[np.float32], hidden: int = 200, n_layers: int = 2, n_classes: int = 2
) -> nn.Module:
    """Return LSTMs over words, given as rows of frozen vectors; row 0 is for the padding after the last word.

    The paper's network, with 300-d vectors, has 723,602 parameters. The vectors are none of them.

    >>> model = lstm(vectors=np.zeros((5, 300), np.float32))
    >>> sum(p.numel() for p in model.parameters())
    723602
    """
    for name, number in (("hidden", hidden), ("n_layers", n_layers), ("n_classes", n_classes)):
        check_whole(name, number, at_least=1)
    if vectors.ndim != 2 or vectors.shape[0] < 2 or not np.isfinite(vectors).all():
        raise InputError(f"vectors must be finite, one row per word and one for padding; got {vectors.shape}")
    from ._networks import StackedLSTM

    return StackedLSTM(torch.from_numpy(vectors.astype(np.float32)), hidden, n_layers, n_classes)
