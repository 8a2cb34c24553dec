"""The same rules over safetensors files, in bounded memory: for any framework and any size of model."""

from .aggregating import Aggregated, aggregate_files
from .remembering import load_state, save_state
from .saving import load_tensors, save_tensors

__all__ = ["Aggregated", "aggregate_files", "load_state", "load_tensors", "save_state", "save_tensors"]
