"""Weights from a file, read without running anything in it."""

from __future__ import annotations

from pathlib import Path

from ...errors import DataError
from ..data.folders import data_folder
from ..lazy_torch import Tensor, nn, torch

__all__ = ["load_weights"]


def load_weights(model: nn.Module, path: str, *, fresh: tuple[str, ...] = ()) -> None:
    """Set a network's weights to a file's, .safetensors or torch's own, by its path in the data folder.

    What begins with one of `fresh` is left as it is if the file has it in another shape.
    """
    file = data_folder() / path
    if not file.is_file():
        raise DataError(f"no weights at {file}")
    held, own = _read(file), model.state_dict()
    for name in own.keys() & held.keys():
        if name.startswith(fresh) and own[name].shape != held[name].shape:
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
        raise DataError(f"reading {file} needs {error.name}: pip install 'holdfast-fl[sim]'") from None
    except Exception as error:  # a damaged file can raise anything
        raise DataError(f"{file} is not a file of weights alone: {str(error).partition('.')[0]}") from None
    if not isinstance(held, dict) or not all(isinstance(value, torch.Tensor) for value in held.values()):
        raise DataError(f"{file} must hold tensors by name, a state dict")
    return held
