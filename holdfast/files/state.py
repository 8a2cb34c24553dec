"""What a rule keeps between rounds, in a safetensors file beside the model."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..aggregators.states import restored_state, state_arrays
from ..core import Aggregate, Bound
from ..errors import DataError
from ..updates.rows import Home
from .header import DTYPES, encoded
from .opening import open_own
from .output import write_tensors

__all__ = ["load_state", "save_state"]

Array = NDArray[Any]

TYPES = {dtype: name for name, dtype in DTYPES.items() if name != "BF16"}


def save_state(path: Path, rule: Bound[Aggregate], state: Any, previous: Array | None) -> None:
    """Write a rule's state, and the last update for the rules that ask for it; whole or not at all.

    >>> import tempfile
    >>> from holdfast import bind, centered_clipping
    >>> from holdfast.files.room import Room
    >>> path = Path(tempfile.mkdtemp()) / "state.safetensors"
    >>> save_state(path, bind(centered_clipping), None, np.ones(2))
    >>> load_state(path, bind(centered_clipping), Room(path.parent, 10**9))[1]
    array([1., 1.])
    """
    arrays = state_arrays(rule, state)
    if rule.needs("previous") and previous is not None:
        arrays["previous"] = previous
    forms = {name: (TYPES[array.dtype], array.shape) for name, array in arrays.items()}
    write_tensors(path, encoded(forms, {"holdfast": "state", "rule": rule.name}), arrays)


def load_state(path: Path, rule: Bound[Aggregate], home: Home) -> tuple[Any, Array | None]:
    """Return the state and the last update; a DataError if the file is damaged or another rule's.

    Without a file there are none: this is the first round.
    """
    if not path.exists():
        return None, None
    stored = open_own(path, name="the state")
    metadata = stored.files[0].header.metadata
    if metadata.get("holdfast") != "state" or metadata.get("rule") != rule.name:
        whose = metadata.get("rule", "something else")
        raise DataError(f"the state, {path}, is that of {whose}, not of {rule.name}: choose another file")
    arrays: dict[str, Array] = {}
    for name, tensor in stored.tensors.items():
        flat = home.empty(int(np.prod(tensor.shape, dtype=np.int64)), tensor.dtype)
        tensor.read(0, flat)
        arrays[name] = flat.reshape(tensor.shape)
    previous = arrays.pop("previous", None)
    try:
        return restored_state(rule, arrays), previous
    except ValueError as error:
        raise DataError(f"the state, {path}, does not fit: {error}") from None
