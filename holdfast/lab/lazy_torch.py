"""torch, imported when it is first used: whoever reads results or lists tasks needs none of it.

    from ..lazy_torch import Tensor, functional, nn, torch

`Tensor` is for annotations, which must not be evaluated: `from __future__ import annotations`. Subclasses of
nn.Module need torch where they are defined, so they live in modules that are imported where they are used.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .._support.extras import install
from ..errors import HoldfastError

__all__ = ["MissingTorchError", "Tensor", "functional", "nn", "torch"]


class MissingTorchError(HoldfastError, ImportError):
    """Something needs torch, and it is not installed; the message says how to install it.

    >>> print(MissingTorchError())
    this needs torch; in a checkout: pip install '.[sim]'
    """

    def __init__(self) -> None:
        """Say what to install."""
        super().__init__(f"this needs torch; {install('sim')}")


class _LazyModule(ModuleType):
    """Stands for a module of torch, and imports it when it is asked for anything."""

    _found: ModuleType | None = None  # kept: a step of training asks some fifty times

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by tools that look through modules
            raise AttributeError(name)
        if self._found is None:
            try:
                import_module("torch")
            except ModuleNotFoundError as error:
                if error.name != "torch":
                    raise
                raise MissingTorchError from None
            self._found = import_module(self.__name__)
        return getattr(self._found, name)


if TYPE_CHECKING:
    import torch as torch
    from torch import Tensor as Tensor
    from torch import nn as nn
    from torch.nn import functional as functional
else:
    Tensor = "torch.Tensor"
    torch = _LazyModule("torch")
    nn = _LazyModule("torch.nn")
    functional = _LazyModule("torch.nn.functional")
