"""The rule and the watch that a command names, with the settings that were typed."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    from ..core import Rule, Watch

__all__ = ["rule_and_watch"]


def rule_and_watch(name: str, *, watch: bool, settings: Mapping[str, Any]) -> "tuple[Rule, Watch | None]":
    """Return the rule of this name and, if asked for, the watch; each setting goes to the one that has it.

    Of rules in front of each other, to all that have it, unless one is named: krum.n_malicious.

    >>> rule_and_watch("nnm+krum", watch=False, settings={"nnm.n_malicious": 1, "krum.n_malicious": 2})[0]
    nnm(n_malicious=1, rule=krum(n_malicious=2))
    """
    from .._support.signatures import settings_of
    from ..aggregators.naming import rule_called
    from ..watching import factions

    rules: list[Any] = [rule_called(name)]
    while rules[-1].inner is not None:
        rules.append(rules[-1].inner)
    watching = factions if watch else None
    chosen = [*rules, *([watching] if watching else [])]
    owned = {one: [own for own in settings_of(one.function, one.role) if own != "rule"] for one in chosen}
    paths = [(one.name, own) for one in chosen for own in owned[one]]
    for key, value in settings.items():
        owners, own = _owners(key, paths)
        if watching is not None and owners == [watching.name]:
            watching = watching(**{own: value})
        rules = [one(**{own: value}) if one.name in owners else one for one in rules]
    rule = rules.pop()
    while rules:
        rule = rules.pop()(rule=rule)
    _check_complete(rule)
    return rule, watching


def _owners(key: str, paths: Sequence[tuple[str, str]]) -> tuple[list[str], str]:
    """Return the names of all that have a setting, and its own; paths are both of every one there is."""
    from .._support.lookup import nearest

    found = [path for path in paths if key in (path[1], ".".join(path))]
    if not found:
        hint = nearest(key.rpartition(".")[2], [own for _, own in paths])
        raise InputError(f"no setting {key!r}; {hint}There are: {', '.join(map('.'.join, paths)) or 'none'}")
    return [owner for owner, _ in found], found[0][1]


def _check_complete(rule: "Rule") -> None:
    """Raise if the rule lacks a setting, with the option that gives it."""
    if not rule.missing:
        return
    number = f"--set {rule.missing[0]}=..."
    if rule.missing[0].endswith("n_malicious"):
        number = f"--set {rule.missing[0]}=2, if at most 2 of a round's clients attack; flame needs no number"
    raise InputError(f"{rule.name} needs {', '.join(rule.missing)}: add {number}")
