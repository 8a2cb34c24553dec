"""A round over files as JSON, so that shards and `merge` know that they work on the same one."""

import json
from pathlib import Path
from typing import Any

from .. import aggregators
from .._support.atomic import write_whole
from ..core import Aggregate, Bound, bind, nearest
from ..errors import DataError, InputError
from .round import FileRound

__all__ = ["load_round", "partials_of", "rule_named", "store_round"]

PATHS = ("weights", "reference", "state")


def rule_named(name: str, settings: dict[str, Any]) -> Bound[Aggregate]:
    """Return the rule of this name, as `holdfast list defences` has it, with its settings.

    >>> print(rule_named("trimmed-mean", {"alpha": 0.1}))
    trimmed_mean(alpha=0.1)
    """
    wanted = name.replace("-", "_")
    if wanted not in aggregators.__all__:
        known = dict.fromkeys(aggregators.__all__)
        raise InputError(f"there is no rule {name!r}; {nearest(wanted, known)}There are: {', '.join(known)}")
    return bind(getattr(aggregators, wanted), **settings)


def partials_of(out: Path) -> Path:
    """Return the folder in which the shards of an output meet.

    >>> partials_of(Path("next.safetensors")).name
    'next.safetensors.partials'
    """
    return out.with_name(f"{out.name}.partials")


def store_round(given: FileRound, out: Path, n_shards: int) -> None:
    """Write down what the round is; a DataError if the folder is another round's."""
    path = partials_of(out) / "round.json"
    told = json.dumps({"n_shards": n_shards, **_told(given)}, indent=1)
    if not path.exists():
        write_whole(path, told.encode())
    if path.read_text() != told:
        raise DataError(
            f"{path.parent} holds the shards of another round: give all shards the same files and settings,"
            " or remove it"
        )


def load_round(out: Path) -> tuple[FileRound, int]:
    """Return the round whose shards lie beside the output, and how many shards it has."""
    path = partials_of(out) / "round.json"
    try:
        told = json.loads(path.read_bytes())
        n_shards = told.pop("n_shards")
        rule = rule_named(told.pop("rule"), {name: _frozen(value) for name, value in told.pop("settings")})
        told |= {name: None if told[name] is None else Path(told[name]) for name in PATHS}
        clients, base = tuple(map(Path, told.pop("clients"))), Path(told.pop("base"))
        fields = {name: _frozen(value) for name, value in told.items()}
        return FileRound(clients, base, rule, **fields), n_shards
    except OSError:
        raise DataError(f"there is nothing to merge: no shards of {out} at {path.parent}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is damaged: {error}") from None


def _told(given: FileRound) -> dict[str, Any]:
    return {
        "clients": [str(path) for path in given.clients],
        "base": str(given.base),
        "rule": given.rule.name,
        "settings": [list(setting) for setting in given.rule.settings],
        **{name: None if getattr(given, name) is None else str(getattr(given, name)) for name in PATHS},
        "seed": given.seed,
        "only": list(given.only),
        "buffers": list(given.buffers),
        "are_updates": given.are_updates,
        "explain": given.explain,
    }


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
