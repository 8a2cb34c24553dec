"""Networks, and the way between a network and its flat params."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lazy_torch import Tensor, nn, torch
from .lstm import lstm
from .resnet import resnet18

__all__ = [
    "build_network",
    "cifar_cnn",
    "flat_params",
    "load_params",
    "lstm",
    "mlp",
    "named_buffers",
    "named_params",
    "resnet18",
    "small_cnn",
]


def mlp(*, sizes: tuple[int, ...] = (45, 128, 256, 2)) -> nn.Module:
    """Return a multi-layer perceptron with ReLU between its layers.

    >>> sum(p.numel() for p in mlp().parameters())
    39426
    """
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def small_cnn(*, side: int = 8, n_channels: int = 1, n_classes: int = 10) -> nn.Module:
    """Return two convolutions and two linear layers, for images of side x side. No batch norm.

    >>> small_cnn()(torch.zeros(2, 1, 8, 8)).shape
    torch.Size([2, 10])
    """
    return nn.Sequential(
        nn.Conv2d(n_channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (side // 4) ** 2, 64),
        nn.ReLU(),
        nn.Linear(64, n_classes),
    )


def cifar_cnn(*, widths: tuple[int, int, int] = (32, 64, 64), n_classes: int = 10) -> nn.Module:
    """Return three convolutions and two linear layers for images of 3 x 32 x 32. No batch norm.

    >>> sum(p.numel() for p in cifar_cnn().parameters())
    122570
    """
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise((3, *widths)):
        layers += [nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(16 * widths[-1], 64), nn.ReLU(), nn.Linear(64, n_classes)
    )


def build_network(make: Any, *, seed: int) -> nn.Module:
    """Return a network with weights that depend on the seed alone; torch's own generator is left as it was.

    >>> first, again = build_network(mlp, seed=1), build_network(mlp, seed=1)
    >>> bool((flat_params(first) == flat_params(again)).all())
    True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: nn.Module = make()
    return model


def flat_params(model: nn.Module) -> NDArray[np.float32]:
    """Return all trainable parameters as one flat array, in the network's own order.

    >>> flat_params(mlp(sizes=(1, 1))).shape
    (2,)
    """
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).cpu().numpy()


def named_params(model: nn.Module, flat: Tensor) -> dict[str, Tensor]:
    """Return flat params, or rows of them, as the named tensors that torch.func.functional_call takes.

    >>> {name: tuple(p.shape) for name, p in named_params(mlp(sizes=(2, 1)), torch.zeros(5, 3)).items()}
    {'0.weight': (5, 1, 2), '0.bias': (5, 1)}
    """
    named, start = {}, 0
    for name, parameter in model.named_parameters():
        stop = start + parameter.numel()
        named[name] = flat[..., start:stop].reshape(*flat.shape[:-1], *parameter.shape)
        start = stop
    return named


def named_buffers(model: nn.Module) -> dict[str, NDArray[Any]]:
    """Return copies of the buffers that belong to the network's state, as BatchNorm's statistics do.

    >>> list(named_buffers(nn.BatchNorm1d(3)))
    ['running_mean', 'running_var', 'num_batches_tracked']
    """
    trained = dict(model.named_parameters())
    state = ((name, tensor) for name, tensor in model.state_dict().items() if name not in trained)
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in state}


def load_params(
    model: nn.Module, flat: NDArray[np.float32], buffers: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Set the network's parameters, and its buffers where they are given.

    >>> model = mlp(sizes=(1, 1))
    >>> load_params(model, np.array([1.0, 2.0], np.float32))
    >>> flat_params(model)
    array([1., 2.], dtype=float32)
    """
    device = next(model.parameters()).device
    with torch.no_grad():
        for name, part in named_params(model, torch.from_numpy(flat).to(device)).items():
            model.get_parameter(name).copy_(part)
        for name, buffer in (buffers or {}).items():
            model.get_buffer(name).copy_(torch.from_numpy(buffer))
