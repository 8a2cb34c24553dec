"""Options that several commands share, and their progress bar."""

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from ..errors import InputError
from ..lab.data.folders import VARIABLE

if TYPE_CHECKING:
    from ..lab.choices import Numbers

__all__ = ["Sampling", "numbers", "progress", "settings"]


class Sampling(StrEnum):
    """How attackers get into a round.

    >>> Sampling("fixed").value
    'fixed'
    """

    UNIFORM = "uniform"
    FIXED = "fixed"


TaskName = Annotated[
    str, typer.Argument(metavar="TASK", help="The task to learn; see 'holdfast list tasks'.")
]
AttackName = Annotated[str, typer.Option("--attack", help="Parts joined by +; see 'holdfast list attacks'.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting, as tau=0.6 or invariant.tau=0.6. Repeatable."
    ),
]
Rounds = Annotated[int | None, typer.Option(help="Number of rounds.")]
Clients = Annotated[int | None, typer.Option(help="Number of clients.")]
PerRound = Annotated[int | None, typer.Option(help="Clients drawn per round.")]
Malicious = Annotated[
    int | None, typer.Option(help="Number of malicious clients; by default a fifth, on twitter a tenth.")
]
Sampled = Annotated[
    Sampling, typer.Option("--sampling", help="Draw attackers like everybody, or their share in every round.")
]
Scale = Annotated[str, typer.Option(help="Size of the experiment: smoke, cpu or paper.")]
Device = Annotated[str, typer.Option(help="Device to train on: cpu, cuda, mps.")]
Out = Annotated[Path, typer.Option(help="Folder for results.")]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        callback=lambda folder: folder and os.environ.update({VARIABLE: str(folder)}),
        help=f"Folder of data sets, in place of ${VARIABLE}.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


def settings(pairs: list[str] | None) -> dict[str, Any]:
    """Return the settings given with --set; what is no pair of a name and a value is a wrong use.

    >>> settings(["tau=0.6"])
    {'tau': 0.6}
    """
    from .._support.literals import literal_settings

    try:
        return literal_settings(pairs or ())
    except InputError as error:
        raise typer.BadParameter(str(error), param_hint="--set") from None


def numbers(
    rounds: int | None, clients: int | None, per_round: int | None, malicious: int | None
) -> "Numbers":
    """Return the counts that were given.

    >>> numbers(3, None, None, None).n_rounds
    3
    """
    from ..lab.choices import Numbers

    return Numbers(rounds, clients, per_round, malicious)


def progress(*, quiet: bool, with_time: bool = True) -> Progress:
    """Return a progress bar on stderr, silent where that is not a terminal.

    `with_time` shows an estimate of the time left; a caller that has a better one shows it itself.

    >>> progress(quiet=True).disable
    True
    """
    console = Console(stderr=True)
    columns: tuple[ProgressColumn, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}"),
    )
    return Progress(
        *columns,
        *((TimeRemainingColumn(compact=True),) if with_time else ()),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )
