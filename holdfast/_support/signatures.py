"""What a function asks for by name: inputs of its role, which the caller supplies, and settings."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InputError
from .roles import ROLES

__all__ = ["inputs_of", "is_in_front", "settings_of"]


@functools.cache
def _parameters(function: Callable[..., Any], role: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters that are given by name."""
    takes = ROLES[role].takes
    named = list(inspect.signature(function).parameters.values())
    ordered = [p for p in named if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(ordered) < len(takes) and not any(p.kind is p.VAR_POSITIONAL for p in named):
        raise InputError(
            f"a {role} is called with ({', '.join(takes)}), then inputs and settings by name;"
            f" {function.__name__}{inspect.signature(function)} cannot be"
        )
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {p.name: p for p in named if p not in ordered[: len(takes)] and p.kind in kinds}


@functools.cache
def settings_of(function: Callable[..., Any], role: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters that are settings.

    >>> list(settings_of(lambda updates, *, share=0.5, weights: updates, "rule"))
    ['share']
    """
    inputs = ROLES[role].inputs
    return {name: p for name, p in _parameters(function, role).items() if name not in inputs}


@functools.cache
def inputs_of(function: Callable[..., Any], role: str) -> Mapping[str, bool]:
    """Return the inputs that a function asks for, and whether it cannot do without.

    >>> inputs_of(lambda updates, *, share=0.5, weights: updates, "rule")
    {'weights': True}
    """
    inputs = ROLES[role].inputs
    return {name: p.default is p.empty for name, p in _parameters(function, role).items() if name in inputs}


@functools.cache
def is_in_front(function: Callable[..., Any], role: str) -> bool:
    """Return whether a rule works in front of another, its setting `rule`, and hands it its **inputs.

    >>> is_in_front(lambda updates, *, rule, **inputs: rule.run(updates, **inputs), "rule")
    True
    """
    kinds = {parameter.kind for parameter in inspect.signature(function).parameters.values()}
    return role == "rule" and inspect.Parameter.VAR_KEYWORD in kinds and "rule" in settings_of(function, role)
