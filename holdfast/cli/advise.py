"""holdfast advise: which alpha and tau, what they guarantee, what they cost, and what a watch would see."""

import json
from collections.abc import Callable, Iterable
from dataclasses import astuple
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from .._support.counting import count_of
from .._support.writable import check_writable_file
from ..theory import Advice, advise
from ..theory.advice_text import paper_text, percent, region_text, watch_text
from . import options
from .shown import Ending, errors_shown

__all__ = ["advise_command"]


def advise_command(
    clients: Annotated[int, typer.Option(help="Number of clients.")],
    malicious: Annotated[
        str,
        typer.Option(
            metavar="N|N%", help="Most malicious clients to expect, as a number (20) or a share (20%)."
        ),
    ],
    per_round: Annotated[
        str | None,
        typer.Option(
            metavar="N|N%", help="Clients drawn per round, as a number (30) or a share (30%); by default all."
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(help="Number of rounds.")] = 300,
    flip: Annotated[
        float, typer.Option(help="Probability that noise flips the sign of an honest client's value.")
    ] = 0.1,
    risk: Annotated[
        float, typer.Option(help="Accepted probability that the guarantee fails in any round.")
    ] = 0.01,
    learning: Annotated[
        float, typer.Option(help="Share of rounds in which a coordinate under attack should still learn.")
    ] = 0.5,
    strength: Annotated[
        float,
        typer.Option(
            help="How far attackers stand off in a round, as a multiple of an honest client's deviation."
        ),
    ] = 3.0,
    plot: Annotated[
        Path | None, typer.Option(help="Also plot the feasible settings to this file (.png, .svg or .pdf).")
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with code 3 if no setting keeps the risk.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Recommend settings of the rule invariant for a federation, with guarantees and costs."""
    with errors_shown():
        if plot is not None:
            check_writable_file(plot)
        advice = advise(
            n_clients=clients,
            n_malicious=count_of(options.counted_in("--malicious", malicious), clients),
            n_per_round=None
            if per_round is None
            else count_of(options.counted_in("--per-round", per_round), clients),
            n_rounds=rounds,
            flip=flip,
            risk=risk,
            learning=learning,
            strength=strength,
        )
        if plot is not None:
            from ..report.advice_figure import draw_region

            draw_region(advice, plot)
    if as_json:
        typer.echo(json.dumps(advice.as_dict(), indent=2))
    else:
        _show(advice, Console(highlight=False))
    if strict and not advice.within_risk:
        raise typer.Exit(Ending.NO)


def _show(advice: Advice, console: Console) -> None:
    federation, found = advice.federation, advice.recommended
    console.print(
        f"{federation.n_clients} clients, {federation.n_malicious} malicious; {federation.n_per_round} per"
        f" round, {federation.n_rounds} rounds; an honest sign flips with chance {federation.flip:g}\n"
    )
    console.print(
        f"[bold]invariant(tau={found.tau:g}, alpha={found.alpha:g})[/bold]  trims {found.n_trimmed} values at"
        f" each end; a coordinate moves with up to {found.n_against} clients against it"
    )
    risk = percent(advice.risk)
    if advice.within_risk:
        console.print(f"[green]Every risk is at most {risk}[/green] over all rounds.")
    else:
        console.print(f"[red]No setting keeps every risk at {risk}[/red] over all rounds; this is the best:")
        console.print(_bullets(advice.problems))
    console.print("\n[bold]To use it[/bold]")
    settings = {"tau": found.tau, "alpha": found.alpha}
    in_python = ", ".join(f"{name}={value:g}" for name, value in settings.items())
    in_shell = "".join(f" --set {name}={value:g}" for name, value in settings.items())
    for line in (
        f"  rule = invariant({in_python})",
        f"  holdfast run TASK --attack edge-case --defence invariant{in_shell}",
    ):
        console.print(line, soft_wrap=True, markup=False)
    console.print("\n[bold]Guaranteed[/bold]")
    console.print(_bullets(advice.guarantees))
    console.print("\n[bold]Feasible[/bold]")
    console.print(_bullets([region_text(federation, advice.region)]))
    console.print("\n[bold]The paper's advice[/bold]")
    console.print(_bullets([paper_text(federation)]))
    console.print("\n[bold]Watched[/bold]")
    seen = watch_text(federation, strength=advice.strength, n_rounds=advice.rounds_until_seen)
    console.print(_bullets([seen]))
    console.print("", _table(advice), sep="\n")


def _bullets(lines: Iterable[str]) -> Table:
    """Return the lines so that each is wrapped under itself."""
    grid = Table.grid(padding=(0, 1))
    for line in lines:
        grid.add_row(" -", line)
    return grid


def _sure(sure: bool) -> str:
    return "yes" if sure else "NO"


#: The rows of the table, one per field of an Assessment, and how each is shown.
ROWS: tuple[tuple[str, Callable[..., str]], ...] = (
    ("tau", "{:g}".format),
    ("alpha", "{:g}".format),
    ("values trimmed at each end", str),
    ("values averaged", str),
    ("clients against, at most", str),
    ("direction sure", _sure),
    ("more attackers than trimmed, per round", percent),
    ("  in some round", percent),
    ("attacked coordinate learns, per round", percent),
    ("other coordinate learns, per round", percent),
    ("attacked coordinate misled, per round", percent),
    ("  in some round", percent),
)


def _table(advice: Advice) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("advice", justify="right")
    for names in advice.published_by_settings:
        table.add_column("\n".join(names).replace("_", "\n"), justify="right")
    columns = (advice.recommended, *advice.published_by_settings.values())
    for (label, shown), *values in zip(ROWS, *map(astuple, columns), strict=True):
        table.add_row(label, *map(shown, values))
    return table
