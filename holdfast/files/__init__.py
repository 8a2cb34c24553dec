"""The same rules over safetensors files, in bounded memory: for other frameworks, and models larger than memory."""

from .aggregating import aggregate_files
from .saving import load_tensors, save_tensors

__all__ = ["aggregate_files", "load_tensors", "save_tensors"]
