"""What a defence remembers between rounds, as named arrays that can be stored, and back."""

import typing
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np

from .._support.arrays import Arrays
from ..core import Bound, Memory, Rule
from ..errors import InputError
from .memory import ClientMemory

__all__ = ["memory_arrays", "restored_memory"]


def memory_arrays(rule: Rule, memory: Memory) -> Arrays:
    """Return what a defence remembers as named arrays: a rule's state must be one, or a dataclass of them."""
    state, arrays = memory.rule, {} if memory.previous is None else {"previous": memory.previous}
    if memory.watch is not None:
        arrays |= {f"watch.{name}": values for name, values in memory.watch.as_arrays().items()}
    arrays |= {f"start.{name}": np.asarray(values) for name, values in (memory.start or {}).items()}
    if state is None:
        return arrays
    if isinstance(state, np.ndarray):
        arrays["state"] = state
    elif _state_type(rule) is type(state):
        arrays |= {f"state.{field.name}": np.asarray(getattr(state, field.name)) for field in fields(state)}
    else:
        arrays["state"] = np.array(state, dtype=object)
    if any(array.dtype.hasobject for array in arrays.values()):
        raise InputError(
            f"the state of {rule.name} cannot be stored: it must be an array, or a dataclass of arrays that"
            f" the rule's parameter `state` is annotated with; got {type(state).__name__}"
        )
    return arrays


def restored_memory(rule: Rule, arrays: Arrays) -> Memory:
    """Return the memory that `memory_arrays` took apart; a ValueError if it is not one of this rule's.

    >>> from holdfast import sparsefed
    >>> from holdfast.aggregators.sparsefed import SparseFedState
    >>> state = SparseFedState.start(2, np.dtype(np.float32))
    >>> restored_memory(sparsefed, memory_arrays(sparsefed, Memory(state))).rule.error
    array([0., 0.], dtype=float32)
    """
    rest = dict(arrays)
    watch, start = _taken(rest, "watch."), _taken(rest, "start.")
    memory = Memory(
        previous=rest.pop("previous", None),
        watch=ClientMemory.from_arrays(watch) if watch else None,
        start=start or None,
    )
    if not rest or "state" in rest:
        return replace(memory, rule=rest.get("state"))
    kind, named = _state_type(rule), {name.removeprefix("state."): value for name, value in rest.items()}
    if kind is None or set(named) != {field.name for field in fields(kind)}:
        raise ValueError(f"{rule.name} keeps no state of {', '.join(named)}")
    return replace(memory, rule=kind(**named))


def _taken(arrays: dict[str, Any], start: str) -> dict[str, Any]:
    """Return what begins with this, by the rest of its name, and take it out."""
    return {name.removeprefix(start): arrays.pop(name) for name in list(arrays) if name.startswith(start)}


def _state_type(rule: Bound[Any]) -> Any:
    """Return the dataclass that the rule's `state` is annotated with, if any: the file has no say in it.

    The state of a rule that works in front of another, and keeps none itself, is that of the other.
    """
    hint = typing.get_type_hints(rule.function).get("state")
    options = [option for option in (hint, *typing.get_args(hint)) if is_dataclass(option)]
    if options:
        return options[0]
    return None if rule.inner is None else _state_type(rule.inner)
