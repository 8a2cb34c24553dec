"""`holdfast demo`: a backdoor planted, and stopped, on two tasks in a minute."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from . import options
from .shown import errors_shown

if TYPE_CHECKING:
    from ..report.demo import Contest

__all__ = ["demo"]

COLOURS = {"kept out": "green", "let in": "red", "half in": "yellow", "hardly learns": "yellow"}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page, its figures and the results.")] = Path(
        "demo"
    ),
    seed: Annotated[int, typer.Option(help="Of all random numbers.", min=0)] = 0,
    rounds: options.Rounds = None,
) -> None:
    """Train two models with malicious clients among the others, under five rules of the server.

    >>> demo.__name__
    'demo'
    """
    console = Console(highlight=False)
    console.print(
        "Many clients train one model; a fifth of them plants a backdoor. Which rule of the server keeps it"
        " out?\nTwelve short trainings, about a minute ..."
    )
    with errors_shown():
        from ..report.demo import contests
        from .making import make_shown

        out.mkdir(parents=True, exist_ok=True)  # what cannot be written to is told before anything is made
        tried = contests(seed=seed, n_rounds=rounds)
        results = out / "results"
        make_shown([run for contest in tried for run in contest.everything], results)
        for contest in tried:
            console.print(_table(contest, results))
        try:
            from ..report.demo_page import write_page

            page = write_page(tried, results, out, seed=seed)
        except ImportError:
            console.print("For the figures and a page to open: pip install 'holdfast\\[report]'")
            return
    console.print(f"A page to open: {page}", soft_wrap=True)


def _table(contest: "Contest", results: Path) -> Table:
    from ..report.demo import DEFENCES, verdict

    honest, attacked = contest.results(results)
    table = Table(
        title=contest.title,
        title_justify="left",
        caption=f"{contest.story} Without attackers: {honest.last('accuracy'):.1%} right,"
        f" {honest.last('attack_success'):.1%} taken for it by mistake.",
        caption_justify="left",
    )
    for heading in ("rule", "what it does"):
        table.add_column(heading, no_wrap=True)
    for heading in ("right\nanswers", "backdoor\nworks"):
        table.add_column(heading, justify="right")
    table.add_column("verdict", no_wrap=True)
    for name, result in attacked.items():
        word = verdict(result, honest)
        table.add_row(
            name,
            DEFENCES[name],
            f"{result.last('accuracy'):.1%}",
            f"{result.last('attack_success'):.1%}",
            f"[{COLOURS[word]}]{word}[/]",
        )
    return table
