"""Networks, and the way between a network and its flat params."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._support.arrays import UNREADABLE, read_arrays
from ..._support.counting import check_whole
from ...errors import DataError, InputError
from ..lazy_torch import Tensor, nn, torch

__all__ = [
    "build_network",
    "check_all_trained",
    "cifar_cnn",
    "fashion_cnn",
    "flat_params",
    "load_model",
    "load_params",
    "lstm",
    "mlp",
    "named_buffers",
    "named_params",
    "resnet18",
    "small_cnn",
    "wide_cnn",
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
    from ._networks import HalvingPool

    return nn.Sequential(
        nn.Conv2d(n_channels, 16, 3, padding=1),
        nn.ReLU(),
        HalvingPool(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        HalvingPool(),
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
    return wide_cnn(widths=widths, hidden=64, n_classes=n_classes)


def wide_cnn(
    *, widths: tuple[int, int, int] = (32, 64, 64), hidden: int = 256, n_classes: int = 10
) -> nn.Module:
    """Build the layers of `cifar_cnn`, with the width of the hidden layer as a setting.

    >>> sum(p.numel() for p in wide_cnn().parameters())
    321290
    """
    from ._networks import HalvingPool

    layers: list[nn.Module] = []
    for n_in, n_out in pairwise((3, *widths)):
        layers += [nn.Conv2d(n_in, n_out, 3, padding=1), nn.ReLU(), HalvingPool()]
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(16 * widths[-1], hidden), nn.ReLU(), nn.Linear(hidden, n_classes)
    )


def fashion_cnn(*, widths: tuple[int, int] = (8, 16), hidden: int = 32, n_classes: int = 10) -> nn.Module:
    """Return two convolutions with strides and two linear layers for images of 1 x 28 x 28. No batch norm.

    >>> sum(p.numel() for p in fashion_cnn().parameters())
    26698
    """
    first, second = widths
    return nn.Sequential(
        nn.Conv2d(1, first, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(first, second, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(7 * 7 * second, hidden),
        nn.ReLU(),
        nn.Linear(hidden, n_classes),
    )


def lstm(
    *, vectors: NDArray[np.float32], hidden: int = 200, n_layers: int = 2, n_classes: int = 2
) -> nn.Module:
    """Return LSTMs over words, given as rows of frozen vectors; row 0 is for the padding after the last word.

    The paper's network, with 300-d vectors, has 723,602 parameters, the vectors not counted.

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


def resnet18(
    *,
    head: int = 1000,
    stem: Literal["imagenet", "cifar"] = "imagenet",
    norm: Literal["batch", "group"] = "batch",
    width: int = 64,
    weights: str | None = None,
) -> nn.Module:
    """Return a ResNet-18 (He et al., 2016, https://arxiv.org/abs/1512.03385) with torchvision's names.

    The default has the paper's 11,689,512 parameters; 990 of its answers are never a label. The stem "cifar"
    keeps the side of small images; group norm keeps nothing between batches, so that all of the network is in
    its params. `weights` is a file, safetensors or .pth, relative to the data folder; a head of another size
    than the file's starts fresh.

    >>> sum(p.numel() for p in resnet18().parameters())
    11689512
    """
    check_whole("head, how many answers there are,", head, at_least=1)
    check_whole("width, the channels of the first stage,", width, at_least=1)
    if stem not in ("imagenet", "cifar") or norm not in ("batch", "group"):
        raise InputError(
            f'stem must be "imagenet" or "cifar", and norm "batch" or "group"; got {stem!r} and {norm!r}'
        )
    from ._networks import NORMS, ResNet, load_weights

    model = ResNet(head=head, stem=stem, norm=NORMS[norm], width=width)
    if weights is not None:
        load_weights(model, weights, fresh="fc.")
    return model


def load_model(model: nn.Module, path: Path) -> None:
    """Set a network's parameters and buffers to a file's, in which nothing is run.

    It is a checkpoint of a run (.npz), .safetensors, or a state dict saved by torch.
    """
    if path.suffix != ".npz":
        from ._networks import load_weights

        load_weights(model, path.resolve())
        return
    try:
        arrays = read_arrays(path)
        buffers = {
            name[len("buffer.") :]: held for name, held in arrays.items() if name.startswith("buffer.")
        }
        params = np.asarray(arrays["params"], dtype=np.float32)
        if params.shape != flat_params(model).shape or buffers.keys() != named_buffers(model).keys():
            raise ValueError(f"it has {params.size} parameters, and {len(buffers)} buffers")
        load_params(model, params, buffers)
    except UNREADABLE as error:
        raise DataError(f"{path} does not fit the network, or is damaged: {error}") from None


def build_network(make: Any, *, seed: int) -> nn.Module:
    """Return a network whose weights depend on the seed alone; torch's own generator is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: nn.Module = make()
    return model


def check_all_trained(model: nn.Module, who: str) -> None:
    """Raise if a parameter is frozen, for a way to train that would move it with the others."""
    frozen = [name for name, part in model.named_parameters() if not part.requires_grad]
    if frozen:
        raise InputError(
            f"{who} trains all parameters of a network, and {', '.join(frozen[:2])} must not be"
            " (requires_grad is off): train it by sgd, or register what is fixed as a buffer"
        )


def flat_params(model: nn.Module) -> NDArray[np.float32]:
    """Return all parameters as one flat array, in the network's own order."""
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()]).cpu().numpy()


def named_params(model: nn.Module, flat: Tensor) -> dict[str, Tensor]:
    """Return flat params, or rows of them, as the named tensors that torch.func.functional_call takes."""
    named, start = {}, 0
    for name, parameter in model.named_parameters():
        stop = start + parameter.numel()
        named[name] = flat[..., start:stop].reshape(*flat.shape[:-1], *parameter.shape)
        start = stop
    return named


def named_buffers(model: nn.Module) -> dict[str, NDArray[Any]]:
    """Return copies of the buffers that belong to the network's state, as BatchNorm's statistics do."""
    trained = dict(model.named_parameters())
    state = ((name, tensor) for name, tensor in model.state_dict().items() if name not in trained)
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in state}


def load_params(
    model: nn.Module, flat: NDArray[np.float32], buffers: Mapping[str, NDArray[Any]] | None = None
) -> None:
    """Set the network's parameters, and its buffers where they are given."""
    device = next(model.parameters()).device
    with torch.no_grad():
        parts = named_params(model, torch.from_numpy(flat).to(device)).values()
        for parameter, part in zip(model.parameters(), parts, strict=True):
            parameter.copy_(part)
        for name, buffer in (buffers or {}).items():
            model.get_buffer(name).copy_(torch.from_numpy(buffer))
