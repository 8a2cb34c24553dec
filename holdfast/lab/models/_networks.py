"""Networks that are classes of their own. This module needs torch, and is imported where they are built."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from ..._support.extras import install
from ...errors import DataError
from ..data.weights import find_weights
from ..lazy_torch import Tensor, functional, nn, torch

__all__ = ["NORMS", "HalvingPool", "ResNet", "StackedLSTM", "load_weights"]

Norm = Callable[[int], nn.Module]


class HalvingPool(nn.MaxPool2d):
    """The largest of every 2 x 2 pixels; without gradients in a tenth of the time of torch's own, same bits.

    Torch looks for the place of the maximum, too, one pixel after the other. With gradients that stays: where
    two pixels are equal, as zeros are, the place decides which of them gets the gradient.
    """

    def __init__(self) -> None:
        super().__init__(2)

    def forward(self, x: Tensor) -> Tensor:
        is_even = x.shape[-2] % 2 == x.shape[-1] % 2 == 0
        if torch.is_grad_enabled() or x.device.type != "cpu" or not x.is_contiguous() or not is_even:
            pooled: Tensor = super().forward(x)
            return pooled
        rows = torch.maximum(x[..., ::2, :], x[..., 1::2, :])
        return torch.maximum(rows[..., ::2], rows[..., 1::2])


class StackedLSTM(nn.Module):
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


class ResNet(nn.Module):
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


#: What can stand between two layers, by name.
NORMS: dict[str, Norm] = {"batch": nn.BatchNorm2d, "group": _group_norm}


def load_weights(model: nn.Module, path: str | Path, *, fresh: str | None = None) -> None:
    """Set a network's weights to a file's, .safetensors or torch's own, by its path in the data folder.

    Nothing in the file is run. What begins with `fresh` is left as it is if the file has it in another shape.
    """
    file = find_weights(path)
    held, own = _read(file), model.state_dict()
    for name in own.keys() & held.keys():
        if fresh is not None and name.startswith(fresh) and own[name].shape != held[name].shape:
            held[name] = own[name]
    try:
        model.load_state_dict(held)
    except RuntimeError as error:
        raise DataError(f"{file} does not fit the network: {error}") from None


def _read(file: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by name."""
    try:
        if file.suffix == ".safetensors":
            from safetensors.torch import load_file

            held = load_file(file)
        else:
            held = torch.load(file, map_location="cpu", weights_only=True)
    except ModuleNotFoundError as error:
        raise DataError(f"reading {file} needs {error.name}; {install('sim')}") from None
    except Exception as error:  # a damaged file can raise anything
        raise DataError(f"{file} is not a file of weights alone: {str(error).partition('.')[0]}") from None
    if not isinstance(held, dict) or not all(isinstance(value, torch.Tensor) for value in held.values()):
        raise DataError(f"{file} must hold tensors by name, a state dict")
    return held
