"""The contract between rules and whoever calls them: Aggregate, Bound, bind, INPUTS. No algorithms.

A rule is a function of the clients' updates. A keyword-only parameter whose name is in `INPUTS` is an
input, which the caller supplies each round; any other is a setting, which `bind` fills in beforehand.
"""

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from .diagnostics import Diagnostics
from .errors import InputError

__all__ = ["INPUTS", "Aggregate", "Bound", "bind", "nearest"]

R = TypeVar("R")

#: What a round can hand to a function that asks for it by name. A new need is one name here.
INPUTS: Mapping[str, str] = MappingProxyType(
    {
        "params": "the global model before the round",
        "previous": "the last global update",
        "weights": "(n_clients,) examples each client says it holds",
        "clients": "(n_clients,) ids",
        "state": "what the rule returned in Aggregate.state last round, None at first",
        "reference": "the server's own update, from its root data",
        "rng": "a numpy Generator, for rules that draw",
        "benign": "(n_honest, dim) the honest rows of this round, for attackers who see everything",
        "n_clients": "how many clients there are, for a split of the data",
        "users": "who wrote each example, for a split by them; None where the data does not say",
        "rehearsal": "(n_attackers, dim) what the attackers would send if they were honest",
        "exposure": "the share of an edge-case pool that honest clients hold, rightly labelled",
        "span": "the lowest and the highest values an example can have, for training that makes examples",
        "vectors": "(n_words, dim) the frozen word vectors of the data set, for a network that reads words",
    }
)


@dataclass(frozen=True, eq=False)
class Aggregate:
    """What a server rule returns: the update to add to the global model, and what there is to say of it.

    `update` has the form of one client's update (array, list of layers, tensor). `state` goes back into
    the rule at the next round. `diagnostics` can be printed.

    >>> import numpy as np
    >>> from holdfast import median
    >>> median(np.array([[1.0, 4.0], [2.0, 3.0], [9.0, -2.0]])).update
    array([2., 3.])
    """

    update: Any
    state: Any = None
    diagnostics: Diagnostics | None = None


@dataclass(frozen=True, repr=False)
class Bound(Generic[R]):
    """A function with every setting filled in: callable, printable, comparable, hashable. Made by `bind`.

    Called with any of `INPUTS`, it passes on those the function asks for.

    >>> from holdfast import trimmed_mean
    >>> bind(trimmed_mean, alpha=0.1) == bind(trimmed_mean, alpha=0.1)
    True
    """

    function: Callable[..., R]
    settings: tuple[tuple[str, Any], ...] = ()

    def __call__(self, *args: Any, **inputs: Any) -> R:
        """Call the function with its settings and the inputs it asks for."""
        unknown = [name for name in inputs if name not in INPUTS]
        if unknown:
            raise InputError(
                f"{unknown[0]!r} is not an input of a round; {nearest(unknown[0], INPUTS)}"
                f"Settings are filled in beforehand: bind({self.name}, {unknown[0]}=...)"
            )
        wanted = {name: value for name, value in inputs.items() if self.needs(name) and value is not None}
        missing = [
            name for name, required in _inputs(self.function).items() if required and name not in wanted
        ]
        if "state" in missing:  # there is none before the first round
            missing.remove("state")
            wanted["state"] = None
        if missing:
            needs = "; ".join(f"{name}= ({INPUTS[name]})" for name in missing)
            raise InputError(f"{self.name} needs {needs}")
        return self.function(*args, **wanted, **dict(self.settings))

    def __repr__(self) -> str:
        """Return the qualified name with all settings, which identifies the function in a run's key."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings)
        return f"{self.function.__module__}.{self.function.__qualname__}({settings})"

    def __str__(self) -> str:
        """Return the name with all settings."""
        return f"{self.name}({', '.join(f'{name}={value}' for name, value in self.settings)})"

    @property
    def name(self) -> str:
        """The bare name of the function."""
        return self.function.__name__

    def needs(self, name: str) -> bool:
        """Return whether the function asks for this input."""
        return name in _inputs(self.function)


@cache
def _inputs(function: Callable[..., Any]) -> Mapping[str, bool]:
    """Return the inputs a function asks for, and whether it cannot do without."""
    parameters = inspect.signature(function).parameters.items()
    return {
        name: p.default is p.empty for name, p in parameters if name in INPUTS and p.kind is p.KEYWORD_ONLY
    }


def bind(function: Callable[..., R], **settings: Any) -> Bound[R]:
    """Return the function with its settings filled in, defaults included.

    >>> from holdfast import invariant
    >>> print(bind(invariant, alpha=0.1))
    invariant(tau=0.6, alpha=0.1, strict=False)
    """
    if not inspect.isroutine(function):
        raise InputError(
            f"a rule is a plain function, such as holdfast.invariant; got {type(function).__name__}."
            " bind(function, setting=...) fills in its settings"
        )
    known = {
        name: p
        for name, p in inspect.signature(function).parameters.items()
        if p.kind is inspect.Parameter.KEYWORD_ONLY and name not in INPUTS
    }
    rule = function.__name__
    for name in settings:
        if name in INPUTS:
            raise InputError(f"{name!r} is an input, given each round, not a setting of {rule}")
        if name not in known:
            raise InputError(
                f"{rule} has no setting {name!r}; {nearest(name, known)}It has: {', '.join(known) or 'none'}"
            )
    filled = {name: settings.get(name, p.default) for name, p in known.items()}
    missing = [name for name, value in filled.items() if value is inspect.Parameter.empty]
    if missing:
        raise InputError(f"{rule} needs {', '.join(missing)}; for example bind({rule}, {missing[0]}=...)")
    bound = Bound(function, tuple(filled.items()))
    try:
        hash(bound)
    except TypeError as error:
        raise InputError(f"a setting of {rule} must be hashable (a tuple, not a list): {error}") from None
    return bound


def nearest(name: str, known: Mapping[str, Any]) -> str:
    """Return "did you mean ...? " for a misspelt name, or nothing if none is near.

    >>> nearest("aplha", {"alpha": 0, "tau": 0})
    "did you mean 'alpha'? "
    """
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"did you mean {found[0]!r}? " if found else ""
