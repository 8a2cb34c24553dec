"""What to type after a round over files."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._support.printable import printable

if TYPE_CHECKING:
    from ..files import Aggregated

__all__ = ["step_after"]

#: More files than these are named by a pattern, if one fits them exactly.
FEW = 3


def step_after(
    said: "Aggregated", clients: Sequence[Path], *, base: Path, out: Path, typed: Mapping[str, Any]
) -> tuple[str, str | None]:
    """Return advice and the command of the next round, from the model that is written; it replaces no file.

    `typed` are the other options by name, as they were given: they are repeated.

    >>> from holdfast import core, files
    >>> said = files.Aggregated(core.Diagnostics("median", clients=(0, 1, 2)))
    >>> sent, paths = [Path("ann"), Path("bob")], {"base": Path("global"), "out": Path("next")}
    >>> print(step_after(said, sent, **paths, typed={"--rule": "median", "--seed": None})[1])
    holdfast aggregate ann bob --base next --out next-2 --rule median
    """
    from ..watching.verdicts import N_SEARCHED

    if said.wants_rewind:
        return (
            "Start again from the model before the first round: take it as --base, with the same --state.",
            None,
        )
    if not said.diagnostics.aggregated and not said.is_hearing:
        return (
            "Too few clients are usable. Correct their files or ask for others, then repeat the command.",
            None,
        )
    told, more = "When the clients have sent their next models, aggregate them", dict(typed)
    if said.verdicts is not None:
        told += " with the same memory:"
    elif len(clients) >= N_SEARCHED:
        more |= {"--watch": True, "--state": typed.get("--state") or out.with_name(f"{out.name}.watch")}
        told += (
            " under a watch, which remembers who votes together. It begins with a hearing: for some rounds,"
            " the model stays as it is."
        )
    else:
        told += ":"
    if more.get("--report"):
        more["--report"] = _following(more["--report"])
    return told, _command(clients, out, out if _is_same(base, out) else _following(out), more)


def _following(path: Path) -> Path:
    """Return a path for the next round that is free: next-2 after next, next-3 after next-2."""
    stem, _, number = path.stem.rpartition("-")
    stem, count = (stem, int(number)) if stem and number.isdecimal() else (path.stem, 1)
    while True:
        count += 1
        following = path.with_name(f"{stem}-{count}{path.suffix}")
        if not following.exists():
            return following


def _is_same(one: Path, other: Path) -> bool:
    """Return whether the output has replaced the base, as it will in the next round."""
    return one.resolve() == other.resolve()


def _command(clients: Sequence[Path], base: Path, out: Path, more: Mapping[str, Any]) -> str | None:
    """Return the command; None if a name in it cannot be shown as it is typed."""
    own = shlex.join(["--base", str(base), "--out", str(out), *_words(more)])
    command = f"holdfast aggregate {_named(clients)} {own}"
    return command if printable(command, limit=len(command)) == command else None


def _words(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield options as they are typed: flags alone, several values one by one."""
    for name, given in options.items():
        for value in given if isinstance(given, list) else [given]:
            if value is True:
                yield name
            elif value is not None and value is not False:
                yield from (name, str(value))


def _named(clients: Sequence[Path]) -> str:
    """Return the files as a shell takes them: one by one, or as a pattern that stands for exactly these."""
    names, suffixes = {path.name for path in clients}, {path.suffix for path in clients}
    if len(clients) > FEW and len(suffixes) == 1:
        common = names.pop() if len(names) == 1 else f"*{suffixes.pop()}"
        ending, folder = f"x{common.removeprefix('*')}", clients[0].parent
        for above, pattern in ((folder, common), (folder.parent, f"*/{common}")):
            if shlex.quote(ending) == ending and {*above.glob(pattern)} == {*clients}:
                return f"{shlex.quote(str(above))}/{pattern}"
    return shlex.join(map(str, clients))
