"""`holdfast demo`: a backdoor planted in two tasks, and who keeps it out, in a minute."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._support.writable import check_writable_folder
from .shown import errors_shown
from .verdicts import COLOURS, show_conclusion

if TYPE_CHECKING:
    from ..report.conclusions import Judged

__all__ = ["demo"]

#: A terminal with fewer columns has no room for all.
NARROW = 90


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the HTML page, its figures and the results.")] = Path(
        "demo"
    ),
    seed: Annotated[int, typer.Option(help="Random seed.", min=0)] = 0,
    rounds: Annotated[
        int | None, typer.Option(help="Number of rounds of every training; by default 20 and 30.")
    ] = None,
) -> None:
    """Plant a backdoor in two trainings, and show which of four defences keeps it out."""
    console = Console(highlight=False)
    with errors_shown():
        _check_everything(out)
        console.print(
            "Many clients train one model, and a fifth of them plant a backdoor. Which of the server's"
            " defences keeps it out?\nTen short trainings, about a minute ..."
        )
        from .._support.atomic import write_whole
        from ..comparing.concluded import guess_rate
        from ..comparing.making import make_shown
        from ..paper.demo import DEFENCES, demo_codes, demo_experiments
        from ..paper.experiment import document, runs_folder, runs_of
        from ..report.demo import conclude_demo, demo_rows
        from ..report.figures import draw_curves
        from ..report.pages import demo_page
        from .making import rounds_shown

        experiments, results = demo_experiments(seed=seed, n_rounds=rounds), out / "results"
        make_shown(runs_of(experiments).values(), runs_folder(results), progress=rounds_shown())
        measured = document(experiments, results, scale="cpu")
        guessing = [guess_rate(one.cells[0].runs[0].task) for one in experiments]
        pairs = zip(measured["experiments"], guessing, strict=True)
        judged = [demo_rows(one, guessing=rate) for one, rate in pairs]
        conclusion = conclude_demo(measured, guessing=guessing, codes=demo_codes(experiments[-1]))
        for one, verdicts in zip(measured["experiments"], judged, strict=True):
            console.print(_table(one, verdicts, DEFENCES, is_narrow=console.width < NARROW))
        draw_curves(measured, out)
        found = {**measured, "conclusion": conclusion.as_dict()}
        words = [{row: own.word for row, own in one.items()} for one in judged]
        page = demo_page(found, verdicts=words, defences=DEFENCES, seed=seed)
        write_whole(out / "report.html", page.encode())
    show_conclusion(conclusion, console)
    console.print(f"\nA page to open: {out / 'report.html'}", soft_wrap=True)


def _check_everything(out: Path) -> None:
    """Find out before anything is trained whether the packages are there and the folder can be written to."""
    from ..report import check_installed

    check_installed("torch", "jinja2", "matplotlib")
    check_writable_folder(out / "results" / "runs")


def _table(
    experiment: dict[str, Any],
    verdicts: "Mapping[str, Judged]",
    defences: Mapping[str, str],
    *,
    is_narrow: bool,
) -> Table:
    """Return what came of each defence; where there is little room, without frame and explanations."""
    table = Table(
        title=experiment["title"], title_justify="left", caption=experiment["note"], caption_justify="left"
    )
    if is_narrow:
        table.box, table.pad_edge = None, False
    table.add_column("defence", no_wrap=True)
    if not is_narrow:
        table.add_column("what it does")
    for heading in ("correct\nanswers", "backdoor\nworks"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for cell in experiment["cells"]:
        word = verdicts[cell["row"]].word if cell["row"] in verdicts else ""
        measured = cell["measured"]
        numbers = [f"{measured[name]['mean']:.1%}" for name in ("accuracy", "attack_success")]
        explained = [] if is_narrow else [defences[cell["row"]]]
        table.add_row(cell["row"], *explained, *numbers, Text(word, style=COLOURS.get(word, "dim")))
    return table
