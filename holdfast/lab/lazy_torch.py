"""torch, imported when it is first used: reading results and listing tasks needs none of it.

Annotations that name torch must be strings: `from __future__ import annotations`. Classes derived from torch's,
and decorators of torch, need it where they are defined; they live in modules that are imported when called.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..errors import HoldfastError

__all__ = ["MissingTorchError", "functional", "nn", "torch"]


class MissingTorchError(HoldfastError, ImportError):
    """Something needs torch, and it is not installed; the message says how to install it.

    >>> print(MissingTorchError())
    the laboratory trains with torch, which is not installed: pip install 'holdfast[sim]'
    """

    def __init__(self) -> None:
        """Say what to install."""
        super().__init__(
            "the laboratory trains with torch, which is not installed: pip install 'holdfast[sim]'"
        )


class _LazyModule(ModuleType):
    """Stands for a module of torch, and imports it when it is asked for anything."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by tools that look through modules
            raise AttributeError(name)
        try:
            module = import_module(self.__name__)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise MissingTorchError from None
        return getattr(module, name)


if TYPE_CHECKING:
    import torch as torch
    from torch import nn as nn
    from torch.nn import functional as functional
else:
    torch = _LazyModule("torch")
    nn = _LazyModule("torch.nn")
    functional = _LazyModule("torch.nn.functional")
