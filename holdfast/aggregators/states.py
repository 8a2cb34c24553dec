"""What a rule keeps between rounds, as named arrays that can be stored, and back."""

import typing
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .._support.arrays import Arrays
from ..core import Aggregate, Bound
from ..errors import InputError

__all__ = ["restored_state", "state_arrays"]


def state_arrays(rule: Bound[Aggregate], state: Any) -> Arrays:
    """Return a rule's state as named arrays: it must be one, or a dataclass of them.

    >>> from holdfast import bind, sparsefed
    >>> state_arrays(bind(sparsefed), None)
    {}
    """
    if state is None:
        return {}
    if isinstance(state, np.ndarray):
        arrays = {"state": state}
    elif _state_type(rule) is type(state):
        arrays = {f"state.{field.name}": np.asarray(getattr(state, field.name)) for field in fields(state)}
    else:
        arrays = {"state": np.array(state, dtype=object)}
    if any(array.dtype.hasobject for array in arrays.values()):
        raise InputError(
            f"the state of {rule.name} cannot be stored: it must be an array, or a dataclass of arrays that"
            f" the rule's parameter `state` is annotated with; got {type(state).__name__}"
        )
    return arrays


def restored_state(rule: Bound[Aggregate], arrays: Arrays) -> Any:
    """Return the state that `state_arrays` took apart; a ValueError if it is not one of this rule's.

    >>> from holdfast import SparseFedState, bind, sparsefed
    >>> state = SparseFedState.start(2, np.dtype(np.float32))
    >>> restored_state(bind(sparsefed), state_arrays(bind(sparsefed), state)).error
    array([0., 0.], dtype=float32)
    """
    if not arrays or "state" in arrays:
        return arrays.get("state")
    kind, named = _state_type(rule), {name.removeprefix("state."): value for name, value in arrays.items()}
    if kind is None or set(named) != {field.name for field in fields(kind)}:
        raise ValueError(f"{rule.name} keeps no state of {', '.join(named)}")
    return kind(**named)


def _state_type(rule: Bound[Aggregate]) -> Any:
    """Return the dataclass that the rule's `state` is annotated with, if any: the file has no say in it."""
    hint = typing.get_type_hints(rule.function).get("state")
    options = [option for option in (hint, *typing.get_args(hint)) if is_dataclass(option)]
    return options[0] if options else None
