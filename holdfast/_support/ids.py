"""Clients' ids as they are remembered and stored: whole numbers, or text."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Name", "ids_as_bytes", "ids_in", "named"]

Name = int | str


def named(client: Any) -> Name:
    """Return a client's id as it is remembered and stored: a whole number, or text."""
    if isinstance(client, int | np.integer) and not isinstance(client, bool):
        return int(client)
    return str(client)


def ids_as_bytes(names: Sequence[Name]) -> NDArray[np.uint8]:
    """Return ids as an array that can be stored without pickle.

    >>> ids_in(ids_as_bytes((3, "eve")))
    (3, 'eve')
    """
    return np.frombuffer(json.dumps(list(names)).encode(), np.uint8)


def ids_in(stored: NDArray[np.uint8]) -> tuple[Name, ...]:
    """Return the ids that were stored; a ValueError if these are none."""
    try:
        names = json.loads(stored.tobytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it has no ids: {error}") from None
    if not isinstance(names, list) or not all(type(name) in (int, str) for name in names):
        raise ValueError("it has no ids")
    return tuple(names)
