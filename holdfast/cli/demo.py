"""`holdfast demo`: a backdoor planted, and stopped, on two tasks in a minute."""

import tempfile
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
    """Train two models with malicious clients among the others, under five rules of the server."""
    console = Console(highlight=False)
    with errors_shown():
        _check_everything(out)
        console.print(
            "Many clients train one model; a fifth of them plants a backdoor. Which rule of the server keeps"
            " it out?\nTwelve short trainings, about a minute ..."
        )
        from .._support.atomic import write_whole
        from ..paper.demo import RULES, demo_experiments, demo_verdicts
        from ..paper.experiment import document, runs_folder, runs_of
        from ..report.figures import draw_curves
        from ..report.pages import demo_page
        from .making import make_with_progress

        experiments, results = demo_experiments(seed=seed, n_rounds=rounds), out / "results"
        make_with_progress(runs_of(experiments).values(), runs_folder(results))
        found = document(experiments, results, scale="cpu")
        verdicts = [demo_verdicts(one) for one in found["experiments"]]
        for one, words in zip(found["experiments"], verdicts, strict=True):
            console.print(_table(one, words, RULES))
        draw_curves(found, out)
        page = demo_page(found, rules=RULES, verdicts=verdicts, seed=seed)
        write_whole(out / "report.html", page.encode())
    console.print(f"A page to open: {out / 'report.html'}", soft_wrap=True)


def _check_everything(out: Path) -> None:
    """Find out before anything is trained whether the packages are there and the folder can be written to."""
    from ..report import check_installed

    check_installed("torch", "jinja2", "matplotlib")
    out.mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=out).close()


def _table(experiment: dict[str, Any], verdicts: dict[str, str], rules: Any) -> Table:
    table = Table(
        title=experiment["title"], title_justify="left", caption=experiment["note"], caption_justify="left"
    )
    for heading in ("rule", "what it does"):
        table.add_column(heading, no_wrap=True)
    for heading in ("correct\nanswers", "backdoor\nworks"):
        table.add_column(heading, justify="right")
    table.add_column("verdict", no_wrap=True)
    for cell in experiment["cells"]:
        word, measured = verdicts[cell["row"]], cell["measured"]
        numbers = [f"{measured[name]['mean']:.1%}" for name in ("accuracy", "attack_success")]
        table.add_row(cell["row"], rules[cell["row"]], *numbers, f"[{COLOURS[word]}]{word}[/]")
    return table
