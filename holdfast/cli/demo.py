"""`holdfast demo`: which rules are moved by attackers, in a table and a figure."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..report.demo import N_ATTACKERS, N_CLIENTS, Standing, poisoned_rounds
from .shown import errors_shown

__all__ = ["demo"]

COLOURS = {"holds": "green", "is moved": "red", "hardly learns": "yellow"}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the figure and the page.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Of the synthetic updates.", min=0)] = 0,
) -> None:
    """Poison a few rounds of synthetic updates and show which rules the attackers moved.

    >>> demo.__name__
    'demo'
    """
    console = Console()
    console.print(
        f"{N_CLIENTS} clients send updates; {N_ATTACKERS} of them push together for a backdoor.\n"
        "Every rule aggregates the same ten rounds of made-up updates."
    )
    with console.status("Aggregating ..."):
        standings = poisoned_rounds(seed=seed)
    console.print(_table(standings))
    try:
        from ..report.demo_page import write_page
    except ImportError:
        console.print("For the figure and a page to open: pip install 'holdfast\\[report]'")
        return
    with errors_shown():
        page = write_page(standings, out)
    console.print(f"A page to open: {page}")


def _table(standings: list[Standing]) -> Table:
    table = Table(
        caption="Shares of what plain averaging (fedavg) learns and lets in; below 0: pushed away.",
        caption_justify="left",
    )
    table.add_column("rule")
    table.add_column("still learns", justify="right")
    table.add_column("backdoor let in", justify="right")
    table.add_column("verdict")
    for standing in sorted(standings, key=lambda standing: standing.let_in):
        table.add_row(
            standing.rule,
            f"{standing.learned:z.0%}",
            f"{standing.let_in:z.0%}",
            f"[{COLOURS[standing.verdict]}]{standing.verdict}[/]",
        )
    return table
