"""A stacked LSTM on frozen word vectors."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..._support.counting import check_whole
from ...errors import InputError

__all__ = ["lstm"]


class _LSTM(nn.Module):
    """Word vectors, a stack of LSTMs, and a linear layer on the state after the last word."""

    vectors: Tensor

    def __init__(self, vectors: Tensor, hidden: int, n_layers: int, n_classes: int) -> None:
        super().__init__()
        # A buffer, and not a persistent one: neither trained, nor sent, nor stored.
        self.register_buffer("vectors", vectors, persistent=False)
        self.lstm = nn.LSTM(vectors.shape[1], hidden, n_layers, batch_first=True)
        self.fc = nn.Linear(hidden, n_classes)

    def forward(self, x: Tensor) -> Tensor:
        ids = x.long()
        states, _ = self.lstm(self.vectors[ids])
        last = (ids > 0).sum(dim=1).clamp(min=1) - 1
        scores: Tensor = self.fc(states[torch.arange(len(ids), device=ids.device), last])
        return scores


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
        raise InputError(f"vectors must be finite, one row a word and one for padding; got {vectors.shape}")
    return _LSTM(torch.from_numpy(vectors.astype(np.float32)), hidden, n_layers, n_classes)
