"""LeNet: the small network that many papers train from scratch."""

from __future__ import annotations

from itertools import pairwise

from ..lazy_torch import nn

__all__ = ["lenet"]


def lenet(
    *,
    side: int = 28,
    n_channels: int = 1,
    filters: tuple[int, int] = (6, 16),
    hidden: tuple[int, ...] = (120, 84),
    n_classes: int = 10,
) -> nn.Module:
    """Return two convolutions of 5 x 5, each with ReLU and pooling, and linear layers. No batch norm.

    LeCun et al., 1998, https://doi.org/10.1109/5.726791, with ReLU and max pooling as it is built today.

    >>> sum(p.numel() for p in lenet().parameters())
    44426
    """
    from ._networks import HalvingPool

    layers: list[nn.Module] = []
    for n_in, n_out in pairwise((n_channels, *filters)):
        layers += [nn.Conv2d(n_in, n_out, 5), nn.ReLU(), HalvingPool()]
        side = (side - 4) // 2
    layers.append(nn.Flatten())
    for n_in, n_out in pairwise((filters[1] * side**2, *hidden, n_classes)):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])
