"""A rule by its name: one of ours, or one in a file or module of the user's own."""

from collections.abc import Mapping
from typing import Any

from ...aggregators.naming import rule_called
from ...core import Rule, bind
from ...errors import InputError
from ..own import is_own, load_own

__all__ = ["rule_named"]

#: What rules that must be told of the attackers are told, where nothing else is said.
EXPECTED = {"n_malicious": 2, "threshold": 4}


def rule_named(text: str, settings: Mapping[str, Any] | None = None) -> Rule:
    """Return the rule of this name, `mine.py:my_rule` or `mine.my_rule` for one's own, with these settings.

    >>> rule_named("krum"), rule_named("trimmed-mean", {"alpha": 0.1})
    (krum(n_malicious=2), trimmed_mean(alpha=0.1))
    """
    found = _own_rule(text) if is_own(text) else _our_rule(text)
    chosen = {name.removeprefix(f"{found.name}."): value for name, value in (settings or {}).items()}
    rule: Rule = bind(found, **chosen)
    return rule.filled(EXPECTED)


def _our_rule(text: str) -> Rule:
    try:
        return rule_called(text)
    except InputError as error:
        raise InputError(f"{error}. One of your own is written mine.py:my_rule") from None


def _own_rule(text: str) -> Rule:
    where, colon, name = text.partition(":")
    if not colon and not where.endswith(".py"):
        where, _, name = where.rpartition(".")
    rules = load_own(where).rules
    if not name and len(rules) == 1:
        return next(iter(rules.values()))
    if name not in rules:
        named = f"no rule {name!r}" if name else f"{len(rules)} rules"
        held = f"it has: {', '.join(rules)}." if rules else "it has none."
        raise InputError(f"{where} holds {named}; {held} A rule is a function under @holdfast.rule")
    return rules[name]
