"""A short name for what a description determines."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["key_of"]


def key_of(description: Mapping[str, Any]) -> str:
    """Return a digest of plain values, the same in every process and in any order of names.

    >>> key_of({"task": "digits", "seed": 0}) == key_of({"seed": 0, "task": "digits"})
    True
    """
    text = json.dumps(description, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
