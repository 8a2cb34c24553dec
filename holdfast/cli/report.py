"""holdfast report: what is stored, as one page, or as tables and figures."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from .._support.writable import check_writable_file, check_writable_folder
from . import options
from .shown import errors_shown

__all__ = ["report_command"]


def report_command(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPERIMENT|TASK]...",
            help="Tables and figures of the paper, by default all; or a task, mine.py too, for all its runs.",
        ),
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder with the results.")] = Path("results"),
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; by default report.html, report.md and so on, by format."),
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="Format: html, markdown, csv, latex or json.")
    ] = "html",
    scale: options.Scale = "cpu",
    seeds: Annotated[int, typer.Option(min=1, help="Number of seeds that each number should rest on.")] = 3,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also draw all figures to this folder.")
    ] = None,
    figure_format: Annotated[
        str, typer.Option(metavar="FORMAT", help="Format of the figures: png, svg or pdf.")
    ] = "png",
    as_json: Annotated[bool, typer.Option("--json", help="Print what was written as JSON.")] = False,
) -> None:
    """Write a report on stored results: the paper's experiments, or all runs of a task. Trains nothing."""
    with errors_shown():
        from ..report.figures import draw_curves, draw_figures
        from ..report.tables import SUFFIXES

        _check_everything(results, format_, figure_format, drawn=figures is not None)
        path = out or Path(f"report{SUFFIXES[format_]}")
        if format_ == "html":
            options.check_page_name(path)
        check_writable_file(path)
        if figures is not None:
            check_writable_folder(figures)
        found = _found(experiments or ["all"], results, scale, seeds)
        _write(found, path, format_)
        drawn = []
        if figures is not None:
            drawn = [draw(found, figures, kind=figure_format) for draw in (draw_curves, draw_figures)]
    _say(found, path, [file for files in drawn for file in files], as_json=as_json)


def _found(names: list[str], results: Path, scale: str, n_seeds: int) -> dict[str, Any]:
    """Return what is stored of the paper's experiments or, if tasks are named, of all their runs."""
    from ..lab.choices import build_run
    from ..lab.own import is_own
    from ..lab.tasks import TASKS
    from ..paper.evidence import evidence
    from ..paper.experiment import runs_folder
    from ..paper.stored import stored_document
    from ..runs.results import list_results

    if not any(is_own(name) or name in TASKS for name in names):
        return evidence(names, results, scale=scale, n_seeds=n_seeds)
    tasks = [build_run(name).task.name for name in names]
    runs, unusable = list_results(runs_folder(results))
    return stored_document([run for run in runs if run.task in tasks], unusable=unusable)


def _check_everything(results: Path, format_: str, figure_format: str, *, drawn: bool) -> None:
    """Find out before the results are read whether all can be written that is asked for."""
    from ..errors import InputError
    from ..report import check_installed
    from ..report.plotting import check_kind
    from ..report.tables import check_format

    check_format(format_)
    check_kind(figure_format)
    if format_ == "html" or drawn:
        check_installed("jinja2", "matplotlib")
    if not results.is_dir():
        raise InputError(
            f"no results at {results}: make some with 'holdfast reproduce', or name another folder"
        )


def _write(found: dict[str, Any], path: Path, format_: str) -> None:
    from .._support.atomic import write_whole
    from ..report.pages import results_page
    from ..report.tables import document_text

    text = results_page(found) if format_ == "html" else document_text(found, format_)
    write_whole(path, text.encode())


def _say(found: dict[str, Any], path: Path, drawn: list[Path], *, as_json: bool) -> None:
    from ..report.kit import counted
    from ..report.tables import claims_counted

    verdicts = Counter(claim["verdict"] for claim in found["claims"])
    if as_json:
        typer.echo(json.dumps({"file": str(path), "figures": list(map(str, drawn)), "claims": verdicts}))
        return
    said = claims_counted(found["claims"])
    claims = f"; {said}" if said else ""
    console = Console(highlight=False)
    counts = [counted([len(found[f"{thing}s"])], thing) for thing in ("experiment", "run")]
    console.print(f"{', '.join(counts)}{claims}")
    if found["unusable"]:
        key, reason = next(iter(found["unusable"].items()))
        n_unusable = counted([len(found["unusable"])], "stored result")
        text = f"{n_unusable} cannot be used; the first is {key}: {reason}"
        console.print(text, soft_wrap=True, markup=False)
    for figure in drawn:
        console.print(f"Drawn: {figure}", soft_wrap=True)
    console.print(f"Written: {path}", soft_wrap=True)
