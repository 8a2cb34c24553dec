"""What to type after a round over files."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .._support.printable import printable

if TYPE_CHECKING:
    from ..files import Aggregated

__all__ = ["step_after"]

#: More files than these are named by a pattern, if one fits them exactly.
FEW = 3


def step_after(
    said: "Aggregated",
    clients: Sequence[Path],
    *,
    base: Path,
    out: Path,
    state: Path | None,
    words: Sequence[str],
) -> tuple[str, str | None]:
    """Return advice and a command; `words` are further options, as typed.

    >>> from holdfast import core, files
    >>> said = files.Aggregated(core.Diagnostics("median", clients=(0, 1, 2)))
    >>> paths = dict(base=Path("base"), out=Path("next"), state=None)
    >>> print(step_after(said, [Path("ann"), Path("bob")], words=["--rule", "median"], **paths)[1])
    holdfast aggregate ann bob --base base --out next --rule median --watch --state next.watch
    """
    if said.wants_rewind:
        return (
            "Start again from the model before the first round: take it as --base, with the same --state.",
            None,
        )
    if not said.diagnostics.aggregated and not said.is_hearing:
        return "Too few clients are usable. Ask for their files again, then repeat the command.", None
    if said.verdicts is None:
        memory = state or out.with_name(f"{out.name}.watch")
        more = [*words, "--watch", "--state", str(memory)]
        told = "Let a watch remember the clients from round to round, to see who votes together:"
        return told, _command(clients, base, out, more)
    stem, _, number = out.stem.rpartition("-")
    name = f"{stem}-{int(number) + 1}" if stem and number.isdecimal() else f"{out.stem}-2"
    following = out.with_name(f"{name}{out.suffix}")
    command = _command(clients, out, following, [*words, "--watch", "--state", str(state)])
    return "When the clients have sent their next models, aggregate them with the same memory:", command


def _command(clients: Sequence[Path], base: Path, out: Path, more: Sequence[str]) -> str | None:
    """Return the command; None if a name in it cannot be shown as it is typed."""
    own = shlex.join(["--base", str(base), "--out", str(out), *more])
    command = f"holdfast aggregate {_named(clients)} {own}"
    return command if printable(command, limit=len(command)) == command else None


def _named(clients: Sequence[Path]) -> str:
    """Return the files as a shell takes them: one by one, or as a pattern that stands for exactly these."""
    folders, suffixes = {path.parent for path in clients}, {path.suffix for path in clients}
    if len(clients) > FEW and len(folders) == len(suffixes) == 1:
        folder, pattern = folders.pop(), f"*{suffixes.pop()}"
        if {*folder.glob(pattern)} == {*clients}:
            return f"{shlex.quote(str(folder))}/{pattern}"
    return shlex.join(map(str, clients))
