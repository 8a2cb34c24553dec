"""holdfast compare: several defences against one attack, over several seeds."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from .._support.extras import install
from .._support.writable import check_writable_folder
from . import options
from .making import rounds_shown
from .shown import errors_shown
from .verdicts import show_conclusion, typed_as

if TYPE_CHECKING:
    from ..comparing import Comparison

__all__ = ["compare_command"]


def compare_command(
    task: options.TaskName,
    attack: options.OneAttack = None,
    defences: Annotated[
        str,
        typer.Option(
            "--defences",
            show_default=False,
            help="Comma-separated defences, each RULE or WATCH+RULE; by default fedavg, trimmed_mean and"
            " invariant.",
        ),
    ] = "fedavg,trimmed_mean,invariant",
    watch: options.Watch = None,
    seeds: Annotated[
        str, typer.Option(help="How many seeds (3 means 0, 1 and 2), or which ones (3,5,7).")
    ] = "3",
    baseline: Annotated[
        str | None, typer.Option(help="Defence to compare the others with, seed by seed.")
    ] = None,
    set_: options.Settings = None,
    rounds: options.Rounds = None,
    clients: options.Clients = None,
    per_round: options.PerRound = None,
    malicious: options.Malicious = None,
    sampling: options.Sampled = options.Sampling.UNIFORM,
    scale: options.Scale = "cpu",
    device: options.Device = "cpu",
    out: options.Out = Path("results"),
    report: options.Report = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Number of processes; by default one per core.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Compare defences with and without an attack; stored runs are not repeated."""
    names = options.names("--defences", defences)
    with errors_shown():
        from ..comparing import compare
        from ..paper.experiment import runs_folder

        options.check_report(report)
        check_writable_folder(runs_folder(out))
        counts = options.numbers(rounds, clients, per_round, malicious)
        given = {"watch": watch, **options.given_only(sampling, scale, out)}
        found = compare(
            task,
            attack,
            names,
            watch=watch,
            seeds=seeds,
            baseline=baseline,
            settings=options.settings(set_),
            numbers=counts,
            sampling=sampling.value,
            scale=scale,
            out=out,
            n_workers=workers,
            device=device,
            progress=rounds_shown(quiet=as_json),
            typed=lambda run: typed_as(task, run, numbers=counts, settings=set_, options=given),
        )
        files = _files(found, out, report)
    if as_json:
        typer.echo(json.dumps(_as_dict(found, files), indent=2, default=str))
        return
    typer.echo(found.table())
    for file in files:
        typer.echo(f"Written: {file}")
    if not files:
        typer.echo(f"For a page and figures, {install('report')}")
    show_conclusion(found.conclusion, Console(highlight=False))


def _files(found: "Comparison", out: Path, report: Path | None) -> list[Path]:
    """Write the page and, beside it, the figures; return the files, none if a package for them is missing."""
    if not all(map(find_spec, ("jinja2", "matplotlib"))):
        return []
    from ..report.figures import draw_curves

    page = found.page(report or out / f"{found.experiment['name']}.html")
    named = {**found.document, "experiments": [{**found.experiment, "name": page.stem}]}
    return [page, *draw_curves(named, page.parent)]


def _as_dict(found: "Comparison", files: list[Path]) -> dict[str, Any]:
    cell = found.experiment["cells"][0]
    return {
        "task": cell["task"],
        "attack": cell["attack"],
        "seeds": found.seeds,
        "baseline": found.baseline,
        "files": files,
        "standings": found.standings,
        "conclusion": found.conclusion.as_dict(),
    }
