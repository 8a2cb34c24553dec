"""`holdfast demo`: a backdoor planted in two tasks, and who keeps it out, in a minute."""

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from . import options
from .shown import errors_shown

__all__ = ["demo"]

COLOURS = {"kept out": "green", "let in": "red", "half in": "yellow", "hardly learns": "yellow", "": "dim"}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the page, its figures and the results.")] = Path(
        "demo"
    ),
    seed: Annotated[int, typer.Option(help="Random seed.", min=0)] = 0,
    rounds: options.Rounds = None,
) -> None:
    """Train two models with malicious clients among the others, under four defences of the server."""
    console = Console(highlight=False)
    with errors_shown():
        _check_everything(out)
        console.print(
            "Many clients train one model; a fifth of them plants a backdoor. Which defence of the server"
            " keeps it out?\nTen short trainings, about a minute ..."
        )
        from .._support.atomic import write_whole
        from ..comparing.making import make_shown
        from ..paper.demo import DEFENCES, demo_experiments, findings
        from ..paper.experiment import document, runs_folder, runs_of
        from ..report.figures import draw_curves
        from ..report.pages import demo_page
        from .making import rounds_shown

        experiments, results = demo_experiments(seed=seed, n_rounds=rounds), out / "results"
        runs = runs_of(experiments).values()
        make_shown(runs, runs_folder(results), progress=rounds_shown())
        measured = document(experiments, results, scale="cpu")
        found = findings(experiments, measured)
        for one, verdicts in zip(measured["experiments"], found.verdicts, strict=True):
            console.print(_table(one, verdicts, DEFENCES))
        draw_curves(measured, out)
        page = demo_page(measured, asdict(found), defences=DEFENCES, seed=seed)
        write_whole(out / "report.html", page.encode())
    console.print()
    for experiment, words in zip(experiments, found.found, strict=True):
        console.print(f"{experiment.title}: {words}")
    console.print(f"[bold]{found.advice}[/bold]")
    if found.code is not None:
        console.print(f"In a server of your own: {found.code}", markup=False, soft_wrap=True)
    console.print(f"A page to open: {out / 'report.html'}", soft_wrap=True)


def _check_everything(out: Path) -> None:
    """Find out before anything is trained whether the packages are there and the folder can be written to."""
    from ..report import check_installed

    check_installed("torch", "jinja2", "matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=out).close()


def _table(experiment: dict[str, Any], verdicts: Mapping[str, str], defences: Mapping[str, str]) -> Table:
    table = Table(
        title=experiment["title"], title_justify="left", caption=experiment["note"], caption_justify="left"
    )
    table.add_column("defence", no_wrap=True)
    table.add_column("what it does")
    for heading in ("correct\nanswers", "backdoor\nworks"):
        table.add_column(heading, justify="right")
    table.add_column("verdict", no_wrap=True)
    for cell in experiment["cells"]:
        word, measured = verdicts[cell["row"]], cell["measured"]
        numbers = [f"{measured[name]['mean']:.1%}" for name in ("accuracy", "attack_success")]
        table.add_row(cell["row"], defences[cell["row"]], *numbers, f"[{COLOURS[word]}]{word}[/]")
    return table
