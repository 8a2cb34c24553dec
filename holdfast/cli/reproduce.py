"""holdfast reproduce: the paper's tables and figures, ours beside the printed numbers, and what holds."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from .._support.writable import check_writable_folder
from . import options
from .reproduce_shown import plan_as_dict, show_document, show_plan
from .shown import errors_shown, same_command, stopping

if TYPE_CHECKING:
    from ..paper.reproduction import RunPlan

__all__ = ["reproduce_command"]

Names = Annotated[
    list[str],
    typer.Argument(
        metavar="NAME...",
        help="all; tables and figures of the paper: table1, table4 to table10, figure4 to figure6,"
        " separable-minima; or experiments of our own, such as watch or worst_case. Figures 1 to 3 come from"
        " 'holdfast theory figures'.",
    ),
]
Seeds = Annotated[
    int | None,
    typer.Option(min=1, help="Number of seeds (0, 1, 2, ...); by default 3, with --scale smoke 1."),
]
Workers = Annotated[
    str | None,
    typer.Option(
        metavar="N|ray|ray://HOST:PORT",
        help="Number of processes, by default one per core; or ray for a local Ray, or a cluster's address.",
    ),
]
Tasks = Annotated[str | None, typer.Option(help="Run only these tasks, comma-separated.")]


def reproduce_command(
    names: Names,
    scale: options.Scale = "cpu",
    seeds: Seeds = None,
    out: options.Out = Path("results"),
    workers: Workers = None,
    tasks: Tasks = None,
    set_: options.Settings = None,
    device: options.Device = "cpu",
    keep_models: Annotated[
        bool, typer.Option("--keep-models", help="Also store the final model of every run.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show which runs are missing and how long they would take; run nothing."
        ),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Run the experiments behind the paper's tables and figures, and show our numbers beside the paper's."""
    n_workers, ray = _workers(workers)
    settings = options.settings(set_)
    console = Console(highlight=False)
    with errors_shown():
        from ..paper import COLUMNS, experiments_named
        from ..paper.evidence import STUDIES, TASK, evidence
        from ..paper.experiment import changed, runs_folder
        from ..paper.reproduction import plan_runs

        sizes: Any = {"scale": scale, "n_seeds": seeds or (1 if scale == "smoke" else 3)}
        wanted = None if tasks is None else [name.strip() for name in tasks.split(",") if name.strip()]
        experiments_named([], tasks=wanted or COLUMNS)  # a misspelt task is known before anything is done
        experiments = experiments_named([name for name in names if name not in STUDIES], **sizes)
        experiments = changed(experiments, settings) if settings else experiments
        everything = experiments_named(["all"], **sizes)
        plan = plan_runs(experiments, out, tasks=wanted, paced_by=everything)
        if dry_run:
            shown = plan_as_dict(plan, n_workers)
            typer.echo(json.dumps(shown, indent=2)) if as_json else show_plan(plan, n_workers, console)
            return
        check_writable_folder(runs_folder(out))
        failed = _make(plan, out, n_workers, ray, device=device, keep_models=keep_models, quiet=as_json)
        make = wanted is None or TASK in wanted
        found = evidence(names, out, **sizes, make=make, settings=settings)
        part = f"{scale}-set" if settings else scale  # what is set here is no table of the paper
        drawn = _write(found, out / "tables" / part, out / "figures" / part)
        if scale != "smoke" and not settings:
            _write_claims(evidence(["all"], out, **sizes)["claims"], out / "tables" / scale)
    if as_json:
        typer.echo(json.dumps(found, indent=2))
    else:
        show_document(found, drawn, plan, console)
    for error in failed.values():
        typer.secho(f"not run: {error}", fg="red", err=True)
    if failed:
        raise typer.Exit(1)


def _workers(asked: str | None) -> tuple[int, str | None]:
    """Return how many workers there are, and the Ray cluster they are on, if any."""
    from .._support.threads import n_threads

    if asked is None:
        return n_threads(), None
    if asked == "ray" or asked.startswith("ray://"):
        return n_threads(), asked
    if not asked.isdecimal() or int(asked) < 1:
        raise typer.BadParameter(
            f"a number of at least 1, ray or ray://host:port; got {asked!r}", param_hint="--workers"
        )
    return int(asked), None


def _make(
    plan: "RunPlan", out: Path, n_workers: int, ray: str | None, *, quiet: bool, **how: Any
) -> dict[str, str]:
    """Make what is missing behind a progress bar; return why some could not be made."""
    from ..paper.reproduction import make_missing

    n_rounds = sum(run.task.n_rounds for run in plan.missing.values())
    failed: dict[str, str] = {}
    progress = options.progress("rounds", n_rounds, quiet=quiet, with_time=False)
    saved = f"Finished runs are stored in {out}, the others up to their last checkpoint. To resume: "
    with progress as show, stopping(saved + same_command()):
        for now in make_missing(plan, out, n_workers=n_workers, ray=ray, **how):
            show(now.n_rounds, f"{now.n_finished} of {len(plan.missing)} runs done, {now.left} left")
            failed = dict(now.failed)
    return failed


def _write(document: dict[str, Any], tables: Path, figures: Path) -> list[Path]:
    """Write every table; return the files of the figures, drawn if they can be."""
    from .._support.atomic import write_whole
    from ..report.figures import draw_figures
    from ..report.tables import table_text

    for one in (one for one in document["experiments"] if one["cells"]):
        text = table_text(one, "markdown", scale=document["scale"])
        write_whole(tables / f"{one['name']}.md", text.encode())
    return draw_figures(document, figures) if find_spec("matplotlib") else []


def _write_claims(claims: list[Any], tables: Path) -> None:
    """Write all claims, whichever experiments were asked for: the others may be stored from before."""
    from .._support.atomic import write_whole
    from ..report.tables import claims_text

    write_whole(tables / "claims.md", claims_text(claims).encode())
