"""Options that several commands share, and their progress bar."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from .._support.counting import count_of
from .._support.writable import check_writable_file
from ..errors import InputError
from ..lab.data.folders import VARIABLE

if TYPE_CHECKING:
    from ..lab.choices import Numbers

__all__ = [
    "Sampling",
    "check_page_name",
    "check_report",
    "counted_in",
    "given_only",
    "names",
    "numbers",
    "progress",
    "settings",
]

#: How often progress is written where it is no bar.
SECONDS = 30.0


class Sampling(StrEnum):
    """How attackers get into a round."""

    UNIFORM = "uniform"
    FIXED = "fixed"


TaskName = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="Task to train: a name from 'holdfast list tasks', or your own Python file, mine.py.",
    ),
]
ATTACK = "Name of an attack, or several joined by +; see 'holdfast list attacks'"
AttackName = Annotated[str, typer.Option("--attack", help=f"{ATTACK}.")]
OneAttack = Annotated[
    str | None,
    typer.Option(
        "--attack",
        help=f"{ATTACK}. By default edge-case, or the only attack in your own file.",
    ),
]
DefenceName = Annotated[
    str,
    typer.Option(
        "--defence", help="The server's aggregation rule, or WATCH+RULE; see 'holdfast list defences'."
    ),
]
Watch = Annotated[
    str | None,
    typer.Option(
        "--watch",
        metavar="WATCH",
        help="Watch to put in front of the rule, such as factions; see 'holdfast list watches'.",
    ),
]
LedgerOut = Annotated[
    Path | None,
    typer.Option("--ledger", help="Also record every round in this ledger (.db); see 'holdfast clients'."),
]
Ledger = Annotated[Path, typer.Option("--ledger", help="Ledger file of the federation (.db).")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting of the task, attack or defence, such as tau=0.6 or batch_size=32. Repeatable.",
    ),
]
RuleSettings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a setting of the rule, such as tau=0.6. Repeatable."
    ),
]
Rounds = Annotated[int | None, typer.Option(help="Number of rounds; by default the task's own.")]
Clients = Annotated[int | None, typer.Option(help="Number of clients; by default the task's own.")]
PerRound = Annotated[
    str | None,
    typer.Option(
        metavar="N|N%",
        help="Clients drawn per round, as a number (20) or a share (20%); by default the task's own.",
    ),
]
Malicious = Annotated[
    str | None,
    typer.Option(
        metavar="N|N%",
        help="Malicious clients, as a number (20) or a share (20%); by default 20%, on twitter 10%.",
    ),
]
Sampled = Annotated[
    Sampling,
    typer.Option(
        "--sampling",
        help="uniform: draw attackers like any other client; fixed: the same number of them in every round.",
    ),
]
Scale = Annotated[
    str, typer.Option(help="Size of the experiment: smoke (a quick trial), cpu, or paper (as in the paper).")
]
Device = Annotated[str, typer.Option(help="Device to train on, such as cpu, cuda or mps.")]
Out = Annotated[Path, typer.Option(help="Folder for results.")]
Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write an HTML page, such as mine.html.")
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        callback=lambda folder: folder and os.environ.update({VARIABLE: str(folder)}),
        help=f"Folder of the data sets; overrides ${VARIABLE}.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


def settings(pairs: list[str] | None) -> dict[str, Any]:
    """Return the settings given with --set; raise a usage error for anything but NAME=VALUE."""
    from .._support.literals import literal_settings

    try:
        return literal_settings(pairs or ())
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from None


def names(option: str, given: str) -> list[str]:
    """Return the names in a comma-separated list; raise a usage error if there are none."""
    found = [name.strip() for name in given.split(",") if name.strip()]
    if not found:
        raise typer.BadParameter("name at least one", param_hint=option)
    return found


def given_only(sampling: Sampling, scale: str, out: Path) -> dict[str, Any]:
    """Return these options by name, None where one has its default and need not be typed."""
    return {
        "sampling": None if sampling is Sampling.UNIFORM else sampling.value,
        "scale": None if scale == "cpu" else scale,
        "out": None if out == Path("results") else out,
    }


def numbers(
    rounds: int | None, clients: int | None, per_round: str | None, malicious: str | None
) -> "Numbers":
    """Return the counts that were given."""
    from ..lab.choices import Numbers

    drawn = None if per_round is None else counted_in("--per-round", per_round)
    attacking = None if malicious is None else counted_in("--malicious", malicious)
    return Numbers(rounds, clients, drawn, attacking)


def counted_in(option: str, given: str) -> int | str:
    """Return a number of clients, or a share of them as it was typed; a usage error if it is neither."""
    try:
        count = count_of(given, 100)
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
    if count < 0:
        raise typer.BadParameter(f"a number of clients is at least 0; got {given!r}", param_hint=option)
    return given.strip() if "%" in given else count


def check_report(report: Path | None) -> None:
    """Raise, before anything is run, if the page could not be made."""
    if report is None:
        return
    from ..report import check_installed

    check_installed("jinja2", "matplotlib")
    check_writable_file(report)
    check_page_name(report)


def check_page_name(path: Path) -> None:
    """Raise if a page would be written to a file that is named like something else."""
    if path.suffix.lower() not in ("", ".html", ".htm"):
        raise InputError(f"the page is HTML: write {path.with_suffix('.html')}, not {path}")


@contextmanager
def progress(
    what: str, total: int, *, quiet: bool, with_time: bool = True
) -> Iterator[Callable[[int, str], None]]:
    """Yield a function that shows on stderr how much is done: a bar on a terminal, else a line now and then.

    `with_time` adds an estimate of the time left; a caller that has a better one shows it itself.
    """
    console, last = Console(stderr=True), time.monotonic()

    def line(done: int, said: str) -> None:
        nonlocal last
        if not quiet and time.monotonic() - last >= SECONDS:
            last = time.monotonic()
            typer.echo(f"{done} of {total} {what}  {said}", err=True)

    if quiet or not console.is_terminal:
        yield line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
    )
    times = (TimeRemainingColumn(compact=True),) if with_time else ()
    with Progress(*columns, *times, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total, said="")
        yield lambda done, said: bar.update(task, completed=done, said=said)
