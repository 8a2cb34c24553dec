"""ResNet-18, He et al., 2016, https://arxiv.org/abs/1512.03385, with torchvision's layout and names."""

from __future__ import annotations

from typing import Literal

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import nn
from .weights import load_weights

__all__ = ["resnet18"]


def resnet18(
    *,
    head: int = 1000,
    stem: Literal["imagenet", "cifar"] = "imagenet",
    norm: Literal["batch", "group"] = "batch",
    width: int = 64,
    weights: str | None = None,
) -> nn.Module:
    """Return a ResNet-18; the default has the paper's 11,689,512 parameters, 990 answers never a label.

    The stem "cifar" keeps the side of small images; group norm keeps nothing between batches, so that all of
    the network is in its params. `weights` is a file, safetensors or .pth, relative to the data folder; a
    head of another size than the file's starts fresh.

    >>> sum(p.numel() for p in resnet18().parameters())
    11689512
    """
    check_whole("head, how many answers there are,", head, at_least=1)
    check_whole("width, the channels of the first stage,", width, at_least=1)
    if stem not in ("imagenet", "cifar") or norm not in ("batch", "group"):
        raise InputError(
            f'stem must be "imagenet" or "cifar", and norm "batch" or "group"; got {stem!r} and {norm!r}'
        )
    from ._networks import NORMS, ResNet

    model = ResNet(head=head, stem=stem, norm=NORMS[norm], width=width)
    if weights is not None:
        load_weights(model, weights, fresh=("fc.",))
    return model
