"""What a client may do to its images before it trains: the same image, moved and mirrored."""

from __future__ import annotations

import numpy as np

from ..lazy_torch import Tensor, functional, torch

__all__ = ["crop_and_flip"]


def crop_and_flip(x: Tensor, *, rng: np.random.Generator, margin: int = 4) -> Tensor:
    """Return images moved by up to `margin` pixels each way, the rim reflected, and half of them mirrored."""
    n, height, width = len(x), x.shape[2], x.shape[3]
    padded = functional.pad(x, (margin,) * 4, mode="reflect")
    top, left = torch.from_numpy(rng.integers(0, 2 * margin + 1, size=(2, n, 1))).to(x.device)
    mirrored = torch.from_numpy(rng.integers(0, 2, size=(n, 1))).to(x.device).bool()
    rows = top + torch.arange(height, device=x.device)
    columns = torch.arange(width, device=x.device).expand(n, width)
    columns = left + torch.where(mirrored, width - 1 - columns, columns)
    image = torch.arange(n, device=x.device)[:, None, None]
    # Indexing by three arrays around a slice puts the channels last.
    return padded[image, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2).contiguous()
