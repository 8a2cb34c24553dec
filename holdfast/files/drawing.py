"""The source of a round's random numbers: a seed, and the model that the round begins with."""

import hashlib

import numpy as np

from ..updates.layout import PIECE
from .opening import Checkpoint

__all__ = ["round_rng"]


def round_rng(seed: int | None, base: Checkpoint) -> np.random.Generator:
    """Return what a round draws from: the same for the same seed and base, other numbers for another base.

    A command knows no number of its round, and noise that is the same in every round adds up in the model.
    How the base is cut into files, and its metadata, make no difference.
    """
    if seed is None:
        return np.random.default_rng()
    digest = hashlib.sha256()
    for name, tensor in sorted(base.tensors.items()):
        digest.update(f"{name!r} {tensor.type_name} {tensor.shape}".encode())
        for at in range(0, tensor.size, PIECE):
            piece = np.empty(min(PIECE, tensor.size - at), dtype=tensor.dtype)
            tensor.read(at, piece)
            digest.update(piece.data)
    words = np.frombuffer(digest.digest(), dtype="<u4")
    return np.random.default_rng([seed, *words.tolist()])
