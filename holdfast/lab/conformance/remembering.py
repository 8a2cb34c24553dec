"""What a rule remembers of earlier rounds other than in its state."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import unwrap
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ...core import Memory, Rule
from .certificate import Clause, failed, noted, passed
from .rounds import crowd, decided, distance, is_near

__all__ = ["kept_outside", "repeats"]


def repeats(rule: Rule) -> Clause:
    """Find out whether the same rounds give the same results, whatever was aggregated before."""
    one, other = crowd(seed=1), crowd(seed=2)
    before = kept_outside(rule.function)

    def run() -> list[Any]:
        """Return the results of rounds that follow one another, with what the rule is meant to remember."""
        results, memory = [], Memory()
        for sent in (one, one, other, one):
            result = decided(rule, sent, state=memory)
            results.append(np.asarray(result.update, dtype=np.float64))
            memory = result.state
        return results

    pairs = list(zip(run(), run(), strict=True))
    if not rule.needs("state") and not rule.needs("previous"):
        results = [result for result, _ in pairs]
        pairs += [(results[0], results[1]), (results[0], results[3])]
    after = kept_outside(rule.function)
    changed = ", ".join(name for name in after if after[name] != before.get(name))
    if all(is_near(first, second) for first, second in pairs):
        same = "the same round gives the same result, before and after other rounds"
        return (
            noted("repeats", f"{same}; but it changes {changed}, outside it")
            if changed
            else passed("repeats", same)
        )
    apart = max(distance(first, second, one) for first, second in pairs)
    return failed(
        "repeats",
        f"the same round gives another result when it comes again, {apart:.2g} spreads away"
        + (f": it changes {changed}, outside it" if changed else "")
        + "; memory belongs into Aggregate.state, chance comes from rng",
        apart=apart,
    )


def kept_outside(function: Callable[..., Any]) -> dict[str, bytes]:
    """Return what lies outside a function and could remember for it: its module's variables, its closure.

    >>> seen = [3]
    >>> "seen" in kept_outside(lambda updates: seen)
    True
    """
    return {name: stored for name, value in _outside(function, set()) if (stored := _stored(value))}


def _outside(function: Any, known: set[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the variables that a function names, and those of the functions beside it that it calls."""
    function = unwrap(function)
    if not isinstance(function, FunctionType) or function in known:
        return
    known.add(function)
    yield from vars(function).items()
    yield f"the defaults of {function.__name__}", (function.__defaults__, function.__kwdefaults__)
    used: dict[str, Any] = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # of a variable that has no value yet
            used[name] = cell.cell_contents
    names = set(_names(function.__code__))
    used |= {name: value for name, value in function.__globals__.items() if name in names}
    for name, value in used.items():
        beside = isinstance(value, FunctionType) and value.__module__ == function.__module__
        yield from _outside(value, known) if beside else [(name, value)]


def _names(code: CodeType) -> Iterator[str]:
    """Yield the names that code looks up, and what is nested in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _stored(value: Any) -> bytes:
    """Return what a value holds, to tell whether it changes; nothing of what is no data."""
    if isinstance(value, ModuleType | type) or callable(value):
        return b""
    try:
        return pickle.dumps(value)
    except Exception:  # whatever an object raises that cannot be stored: it is not looked at
        return b""
