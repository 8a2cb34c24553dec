"""ResNet-18, He et al., 2016, https://arxiv.org/abs/1512.03385, with torchvision's layout and names."""

import math
from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn
from torch.nn import functional

from ..._support.counting import check_whole
from ...errors import InputError
from .weights import load_weights

__all__ = ["resnet18"]

Norm = Callable[[int], nn.Module]


class _Block(nn.Module):
    """Two convolutions, and a way around them."""

    def __init__(self, n_in: int, n_out: int, stride: int, norm: Norm) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(n_in, n_out, 3, stride, padding=1, bias=False)
        self.bn1 = norm(n_out)
        self.conv2 = nn.Conv2d(n_out, n_out, 3, padding=1, bias=False)
        self.bn2 = norm(n_out)
        self.downsample: nn.Module | None = None
        if stride != 1 or n_in != n_out:
            self.downsample = nn.Sequential(nn.Conv2d(n_in, n_out, 1, stride, bias=False), norm(n_out))

    def forward(self, x: Tensor) -> Tensor:
        around = x if self.downsample is None else self.downsample(x)
        x = functional.relu(self.bn1(self.conv1(x)))
        return functional.relu(self.bn2(self.conv2(x)) + around)


class _ResNet(nn.Module):
    """A stem, four stages of two blocks, and a linear head. Attributes are named as in state dicts."""

    def __init__(self, *, head: int, stem: str, norm: Norm, width: int) -> None:
        super().__init__()
        if stem == "imagenet":
            self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
            self.pool: nn.Module = nn.MaxPool2d(3, stride=2, padding=1)
        else:
            self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
            self.pool = nn.Identity()
        self.bn1 = norm(width)
        self.layer1 = _stage(width, width, 1, norm)
        self.layer2 = _stage(width, 2 * width, 2, norm)
        self.layer3 = _stage(2 * width, 4 * width, 2, norm)
        self.layer4 = _stage(4 * width, 8 * width, 2, norm)
        self.fc = nn.Linear(8 * width, head)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(functional.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        scores: Tensor = self.fc(x.mean(dim=(2, 3)))
        return scores


def _stage(n_in: int, n_out: int, stride: int, norm: Norm) -> nn.Module:
    return nn.Sequential(_Block(n_in, n_out, stride, norm), _Block(n_out, n_out, 1, norm))


def _group_norm(n_channels: int, n_groups: int = 32) -> nn.Module:
    return nn.GroupNorm(math.gcd(n_groups, n_channels), n_channels)


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
    norms: dict[str, Norm] = {"batch": nn.BatchNorm2d, "group": _group_norm}
    if stem not in ("imagenet", "cifar") or norm not in norms:
        raise InputError(
            f'stem must be "imagenet" or "cifar", and norm "batch" or "group"; got {stem!r} and {norm!r}'
        )
    model = _ResNet(head=head, stem=stem, norm=norms[norm], width=width)
    if weights is not None:
        load_weights(model, weights, fresh=("fc.",))
    return model
