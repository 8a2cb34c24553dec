"""holdfast report: what was measured, as one page, or as tables and figures."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from . import options
from .shown import errors_shown

__all__ = ["report_command"]


def report_command(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[EXPERIMENT]...", help="Tables and figures; by default all."),
    ] = None,
    results: Annotated[Path, typer.Option(help="The folder that 'holdfast reproduce' wrote to.")] = Path(
        "results"
    ),
    out: Annotated[
        Path | None, typer.Option(help="The file to write; by default report.html, report.md, ...")
    ] = None,
    format_: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="html, markdown, csv, latex or json.")
    ] = "html",
    scale: options.Scale = "cpu",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds a number should rest on.")] = 3,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also draw the curves, into this folder.")
    ] = None,
    figure_format: Annotated[str, typer.Option(metavar="FORMAT", help="png, svg or pdf.")] = "png",
    as_json: Annotated[bool, typer.Option("--json", help="Say as JSON what was written.")] = False,
) -> None:
    """Show what was measured beside what the paper prints. Nothing is run; what is missing is said to be.

    >>> report_command.__name__
    'report_command'
    """
    with errors_shown():
        from ..errors import InputError
        from ..lab.names import SCALES
        from ..paper import experiments_named
        from ..report.evidence import STUDIES, evidence
        from ..report.experiment_curves import KINDS, draw_experiments
        from ..report.texts import SUFFIXES, check_format

        check_format(format_)
        if scale not in SCALES:
            raise InputError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}")
        if figure_format not in KINDS:
            raise InputError(f"a figure's format must be one of {', '.join(KINDS)}; got {figure_format!r}")
        if not results.is_dir():
            raise InputError(
                f"no results at {results}: make some with 'holdfast reproduce', or name another folder"
            )
        names = experiments or ["all"]
        found = evidence(names, results, scale=scale, n_seeds=seeds)
        path = _write(found, out or Path(f"report{SUFFIXES[format_]}"), format_)
        chosen = [name for name in names if name not in STUDIES]
        tables = experiments_named(chosen, scale=scale, n_seeds=seeds)
        drawn = draw_experiments(tables, results, figures, kind=figure_format) if figures else []
    _say(found, path, drawn, as_json=as_json)


def _write(found: dict[str, Any], path: Path, format_: str) -> Path:
    from .._support.atomic import write_whole
    from ..report.page import write_page
    from ..report.texts import document_text

    if format_ == "html":
        return write_page(found, path)
    write_whole(path, document_text(found, format_).encode())
    return path


def _say(found: dict[str, Any], path: Path, drawn: list[Path], *, as_json: bool) -> None:
    verdicts = [claim["verdict"] for claim in found["claims"]]
    counts = {verdict: verdicts.count(verdict) for verdict in ("holds", "does not hold", "not measured")}
    if as_json:
        typer.echo(json.dumps({"file": str(path), "figures": list(map(str, drawn)), "claims": counts}))
        return
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    console = Console(highlight=False)
    console.print(
        f"{len(found['experiments'])} experiments, {len(found['runs'])} runs; of the claims: {said}"
    )
    for figure in drawn:
        console.print(f"Drawn: {figure}", soft_wrap=True)
    console.print(f"Written: {path}", soft_wrap=True)
