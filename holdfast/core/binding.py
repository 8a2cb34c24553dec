"""Functions as values: Bound, Rule, Watch, rule, bind. No algorithms.

Everything a user chooses is a function in a role: a rule of the server, an attacker's craft, a network, ...
The role says which keyword parameters the caller supplies when it runs the function: its inputs. Every other
one is a setting, filled in beforehand. A function with its settings is a value: it can be printed,
compared and stored.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, NamedTuple, Self, TypeVar, cast, overload

import numpy as np

from .._support.annotations import as_annotated
from .._support.lookup import offered
from .._support.roles import ROLES
from .._support.signatures import inputs_of, is_in_front, settings_of
from .._support.sources import source_digest
from .._support.spelling import spelt
from ..errors import InputError
from .aggregate import Aggregate

__all__ = ["Attendance", "Bound", "Rule", "Watch", "bind", "rule"]

R = TypeVar("R")


class Attendance(NamedTuple):
    """Who is left in a round, for rules whose settings follow it.

    >>> Attendance(n_clients=16, n_expelled=4).n_before
    20
    """

    n_clients: int  # whose updates count
    n_expelled: int = 0  # other clients of this round, of which a watch is certain
    n_suspected: int = 0  # of those whose updates count

    @property
    def n_before(self) -> int:
        """How many clients there were with those expelled."""
        return self.n_clients + self.n_expelled

    def attackers_left(self, n_assumed: int) -> int:
        """Take the expelled clients from the attackers that were assumed.

        One is always left, and so are all suspects: a watch may miss some, and a rule that assumes no
        attacker is plain averaging.

        >>> Attendance(16, 4).attackers_left(6), Attendance(15, 5, n_suspected=2).attackers_left(4)
        (2, 2)
        >>> Attendance(16, 4).attackers_left(4), Attendance(16, 4).attackers_left(0)
        (1, 0)
        """
        return max(n_assumed - self.n_expelled, min(max(1, self.n_suspected), n_assumed))


#: Returns the settings that a rule changes for a round, from all of its settings and the round's attendance.
Adapt = Callable[[Mapping[str, Any], Attendance], Mapping[str, Any]]

#: What to take in a role, for whoever has given something else.
EXAMPLES = {"rule": "holdfast.krum_trimmed_mean(n_malicious=2)", "watch": "holdfast.factions()"}


@dataclass(frozen=True, repr=False)
class Bound(Generic[R]):
    """A function with its settings filled in: callable, printable, comparable, hashable. Made by `bind`.

    Called with inputs of its role, it passes on those that the function asks for.

    >>> def halves(labels, *, n_clients, seed=0):
    ...     return [labels[:2], labels[2:]]
    >>> bind(halves, "split")
    halves(seed=0)
    """

    function: Callable[..., R]
    settings: tuple[tuple[str, Any], ...] = ()
    role: str = "rule"

    def __call__(self, *args: Any, **inputs: Any) -> R:
        """Run the function."""
        return self.run(*args, **inputs)

    def run(self, *args: Any, **inputs: Any) -> R:
        """Run the function with its settings and those of the inputs that it asks for."""
        known = ROLES[self.role].inputs
        for name in inputs:
            if name not in known:
                raise InputError(f"{name!r} is not an input of a {self.role}{offered(name, known)}")
        self.check_complete()
        self.check_given(inputs)
        wanted = {name: value for name, value in inputs.items() if self.needs(name) and value is not None}
        if inputs_of(self.function, self.role).get("state"):  # there is none before the first round
            wanted.setdefault("state", None)
        return self.function(*args, **wanted, **dict(self.settings))

    def __repr__(self) -> str:
        """Return the name with all settings."""
        settings = [f"{name}={spelt(value)}" for name, value in self.settings]
        return f"{self.name}({', '.join([*settings, *(f'{name}=?' for name in self._unset)])})"

    @property
    def name(self) -> str:
        """The bare name of the function."""
        return self.function.__name__

    @property
    def identity(self) -> str:
        """The name with all settings and, for a function from outside the package, a digest of its source.

        The same in every process and wherever the function lives, so that moving a file changes nothing.

        >>> from holdfast import median
        >>> median.identity, bind(len, "prediction").identity[:6]
        ('median()', 'len()#')
        """
        own = self.function.__module__.partition(".")[0] == __name__.partition(".")[0]
        return repr(self) if own else f"{self!r}#{source_digest(self.function)}"

    @property
    def inner(self) -> "Bound[R] | None":
        """The rule that this one works in front of, its setting `rule`; None if there is none."""
        return dict(self.settings).get("rule") if is_in_front(self.function, self.role) else None

    def needs(self, name: str) -> bool:
        """Return whether the function, or the one that it works in front of, asks for this input."""
        inner = self.inner
        return name in inputs_of(self.function, self.role) or (inner is not None and inner.needs(name))

    def check_complete(self) -> None:
        """Raise if a setting without a default is not set, here or in the function behind this one."""
        unset = self._unset
        if unset:
            raise InputError(f"{self.name} needs {', '.join(unset)}; for example {self.name}({unset[0]}=...)")
        if self.inner is not None:
            self.inner.check_complete()

    def check_given(self, inputs: Mapping[str, Any]) -> None:
        """Raise if an input that the function cannot do without is not there; a state may be missing."""
        asked = inputs_of(self.function, self.role)
        missing = [name for name, required in asked.items() if required and inputs.get(name) is None]
        if needed := [name for name in missing if name != "state"]:
            known = ROLES[self.role].inputs
            raise InputError(f"{self.name} needs {'; '.join(f'{name}= ({known[name]})' for name in needed)}")

    def adapted(self, attendance: Attendance) -> Self:
        """Change the settings that follow a round, by the rule's own `adapt`; most rules have none.

        >>> from holdfast import krum
        >>> krum(n_malicious=4).adapted(Attendance(n_clients=18, n_expelled=1))
        krum(n_malicious=3)
        """
        adapt = getattr(self.function, "adapt", None)
        return self if adapt is None else cast(Self, _filled(self, adapt(dict(self.settings), attendance)))

    @property
    def missing(self) -> list[str]:
        """The settings without a default that are not set; those of the function behind with its name."""
        inner = self.inner
        behind = [] if inner is None else [f"{inner.name}.{name}" for name in inner.missing]
        return [*self._unset, *behind]

    def filled(self, values: Mapping[str, Any]) -> Self:
        """Return the same with those of the values that are settings not set yet, here and behind."""
        changes = {name: values[name] for name in self._unset if name in values}
        if self.inner is not None:
            changes["rule"] = self.inner.filled(values)
        return cast(Self, _filled(self, changes))

    @property
    def _unset(self) -> list[str]:
        given = dict(self.settings)
        return [name for name in settings_of(self.function, self.role) if name not in given]


@dataclass(frozen=True, repr=False)
class _Choice(Bound[R]):
    """Called with settings it is the same function with those settings, with updates it runs."""

    def __post_init__(self) -> None:
        """Look like the function to help() and to doctest."""
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            object.__setattr__(self, name, getattr(self.function, name))
        object.__setattr__(self, "__wrapped__", self.function)

    @overload
    def __call__(self, updates: Any, /, **given: Any) -> R: ...

    @overload
    def __call__(self, /, **settings: Any) -> Self: ...

    def __call__(self, /, *args: Any, **given: Any) -> Any:
        """Run it on updates, or return it with these settings."""
        inputs = {name: value for name, value in given.items() if name in ROLES[self.role].inputs}
        settings = {name: value for name, value in given.items() if name not in inputs}
        chosen = _filled(self, settings) if settings else self
        rng = inputs.get("rng")
        if rng is not None and not isinstance(rng, np.random.Generator) and chosen.needs("rng"):
            raise InputError(
                f"rng must be a numpy Generator, numpy.random.default_rng(seed); got {type(rng).__name__}"
            )
        if args:
            return chosen.run(*args, **inputs)
        if inputs:
            name = next(iter(inputs))
            raise InputError(
                f"{name!r} is an input, given with the updates of each round, not a setting of {self.name}"
            )
        return chosen

    def __reduce__(self) -> Any:
        """Pickle by name: the module holds this under the function's name, not the function."""
        where = self.function.__module__, self.function.__qualname__
        return _choice_named, (*where, self.role, self.settings)


@dataclass(frozen=True, repr=False)
class Rule(_Choice[Aggregate]):
    """A rule of the server: called with settings it is a rule with those settings, with updates it runs.

    >>> import numpy as np
    >>> from holdfast import trimmed_mean
    >>> trimmed_mean(alpha=0.1)
    trimmed_mean(alpha=0.1)
    >>> trimmed_mean(np.array([[0.0], [1.0], [5.0]]), alpha=0.3).update
    array([1.])
    """


@dataclass(frozen=True, repr=False)
class Watch(_Choice[Any]):
    """A watch over the clients, which remembers them: called with settings it is a watch with those settings.

    >>> from holdfast import factions
    >>> factions(mode="report").settings[0]
    ('mode', 'report')
    """


@overload
def rule(function: Callable[..., Aggregate], /) -> Rule: ...


@overload
def rule(*, adapt: Adapt) -> Callable[[Callable[..., Aggregate]], Rule]: ...


def rule(function: Any = None, /, *, adapt: Adapt | None = None) -> Any:
    """Turn a function of the clients' updates, which returns an Aggregate, into a rule.

    `np.asarray(updates)` is the matrix with one row per client, and the update may be flat. Keyword-only
    parameters are settings, or inputs of the round by name: weights, clients, state, reference, rng, ...
    A rule that works in front of another has it as its setting `rule`, and hands its `**inputs` on to it.

    Args:
        function: The function.
        adapt: Which settings change in a round, as `adapt(settings, attendance)`: how many clients are left,
            and how many attackers among them there can be.

    Returns:
        The rule, or with `adapt` a decorator that makes it.

    >>> import numpy as np
    >>> @rule
    ... def middle(updates, *, share=0.5):
    ...     return Aggregate(np.quantile(np.asarray(updates), share, axis=0))
    >>> middle(share=0.25)
    middle(share=0.25)
    >>> middle(np.array([[1.0], [2.0], [9.0]])).update
    array([2.])
    """
    if adapt is not None:
        return functools.partial(_adapting_rule, adapt)
    made = bind(function)
    assert isinstance(made, Rule)
    return made


def _adapting_rule(adapt: Adapt, function: Any) -> Rule:
    """Make a rule whose settings follow each round."""
    function.adapt = adapt
    return rule(function)


def bind(function: Any, role: str = "rule", /, **settings: Any) -> Any:
    """Return the function in a role, with its settings filled in, defaults included.

    Takes a plain function, a class, a functools.partial, or what `bind` returned.

    >>> from functools import partial
    >>> from holdfast import invariant
    >>> bind(partial(invariant, alpha=0.1))
    invariant(tau=0.6, alpha=0.1, strict=False)
    """
    if isinstance(function, functools.partial):
        if function.args:
            raise InputError(f"a partial fills in settings by name, not by position; got {function!r}")
        return bind(function.func, role, **{**function.keywords, **settings})
    if isinstance(function, Bound):
        return _filled(Bound(function.function, function.settings, role), settings)
    if not callable(function) or not hasattr(function, "__name__"):
        example = f", such as {EXAMPLES[role]}" if role in EXAMPLES else ""
        raise InputError(
            f"a {role} is a function{example}, or a functools.partial of one; got {type(function).__name__}"
        )
    return _filled(Bound(function, (), role), settings)


def _filled(bound: Bound[Any], changes: Mapping[str, Any]) -> Any:
    """Return the same function with some settings changed, and those with a default filled in."""
    function, role = bound.function, bound.role
    known = settings_of(function, role)
    for name in changes:
        if name in ROLES[role].inputs:
            raise InputError(f"{name!r} is an input of a {role}, given each round, not a setting")
        if name not in known:
            raise InputError(f"{bound.name} has no setting {name!r}{offered(name, known, lead='It has')}")
    given = {**dict(bound.settings), **changes}
    filled = {
        name: as_annotated(parameter, given.get(name, parameter.default))
        for name, parameter in known.items()
        if name in given or parameter.default is not parameter.empty
    }
    if "rule" in filled and is_in_front(function, role):
        filled["rule"] = bind(filled["rule"])
    made = {"rule": Rule, "watch": Watch}.get(role, Bound)(function, tuple(filled.items()), role)
    try:
        hash(made)
    except TypeError as error:
        raise InputError(
            f"a setting of {bound.name} must be hashable (a tuple, not a list): {error}"
        ) from None
    return made


def _choice_named(module: str, name: str, role: str, settings: tuple[tuple[str, Any], ...]) -> Any:
    """Return a rule or a watch that was pickled."""
    found: Any = import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return _filled(bind(found, role), dict(settings))
