"""Who sent exactly what another client sent: a cheap look first, and all bytes of those who look alike."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["duplicates_in"]

#: So many numbers of each array decide whether it is worth a second look.
N_LOOKED_AT = 256


def duplicates_in(models: Mapping[Any, Mapping[str, NDArray[Any]]]) -> dict[Any, Any]:
    """Return the clients whose arrays equal those of one before them, bit by bit, and which.

    >>> one, other = {"w": np.arange(9.0)}, {"w": np.arange(9.0) + 1}
    >>> duplicates_in({"ann": one, "bob": other, "eve": {"w": np.arange(9.0)}})
    {'eve': 'ann'}
    """
    found: dict[Any, Any] = {}
    for alike in _groups({client: _digest(model, N_LOOKED_AT) for client, model in models.items()}):
        for first, *others in _groups({client: _digest(models[client], None) for client in alike}):
            found |= dict.fromkeys(others, first)
    return {client: found[client] for client in models if client in found}


def _groups(digests: Mapping[Any, bytes]) -> Iterable[list[Any]]:
    groups: dict[bytes, list[Any]] = {}
    for client, digest in digests.items():
        groups.setdefault(digest, []).append(client)
    return [group for group in groups.values() if len(group) > 1]


def _digest(model: Mapping[str, NDArray[Any]], n_numbers: int | None) -> bytes:
    """Return a digest of some numbers of each array, or of all."""
    digest = hashlib.blake2b(digest_size=16)
    for values in model.values():
        flat = values.reshape(-1)
        step = 1 if n_numbers is None else max(1, flat.size // n_numbers)
        digest.update(np.ascontiguousarray(flat[::step]).view(np.uint8).data)
    return digest.digest()
