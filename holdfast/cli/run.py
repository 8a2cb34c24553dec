"""holdfast run: one training under attack, watched round by round."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from .._support.writable import check_writable_folder
from . import options
from .run_shown import news, show_places, show_result
from .shown import errors_shown, same_command, stopping
from .verdicts import show_conclusion, typed_as

if TYPE_CHECKING:
    from ..lab.scenario import Run
    from ..runs.results import Result

__all__ = ["run_command"]


def run_command(
    task: options.TaskName,
    attack: options.AttackName = "none",
    defence: options.DefenceName = "fedavg",
    watch: options.Watch = None,
    set_: options.Settings = None,
    rounds: options.Rounds = None,
    clients: options.Clients = None,
    per_round: options.PerRound = None,
    malicious: options.Malicious = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    sampling: options.Sampled = options.Sampling.UNIFORM,
    scale: options.Scale = "cpu",
    device: options.Device = "cpu",
    out: options.Out = Path("results"),
    report: options.Report = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Continue this run from its last checkpoint.")
    ] = False,
    trackers: Annotated[
        list[str] | None,
        typer.Option(
            "--track",
            metavar="TRACKER",
            help="Also log to tensorboard, mlflow or wandb, or to one at an address: mlflow:URI. Repeatable.",
        ),
    ] = None,
    alone: Annotated[
        bool,
        typer.Option(
            "--no-unattacked",
            help="Skip the second training, without attackers; the verdict then has nothing to compare with.",
        ),
    ] = False,
    ledger: options.LedgerOut = None,
    as_json: options.Json = False,
) -> None:
    """Train a model with honest and malicious clients, and see whether the backdoor gets in."""
    with errors_shown():
        from ..comparing.concluded import concluded_run
        from ..lab.choices import build_run
        from ..paper.experiment import runs_folder
        from ..runs.recording import run_and_record
        from ..runs.tracking import track, tracker_named

        folder = runs_folder(out)
        options.check_report(report)
        check_writable_folder(folder)
        settings, counts = options.settings(set_), options.numbers(rounds, clients, per_round, malicious)
        run = build_run(
            task,
            attack=attack,
            defence=defence,
            watch=watch,
            settings=settings,
            numbers=counts,
            seed=seed,
            sampling=sampling.value,
            scale=scale,
        )
        results = run_and_record(run, folder, resume=resume, device=device, ledger=ledger)
        tracked_by = [tracker_named(name) for name in trackers or ()]
        for tracker in tracked_by:
            results = track(results, tracker)
        result = _train("rounds", run, results, saved=lambda: _saved(run, folder), quiet=as_json)
        if run.attack.n_malicious and not alone:
            _train_unattacked(run, folder, device=device, quiet=as_json)
        given = options.given_only(sampling, scale, out)
        typed = typed_as(task, run, numbers=counts, settings=set_, options=given)
        conclusion = concluded_run(run, out, typed=typed)
        links = {tracker.title: tracker.where for tracker in tracked_by if tracker.where}
        if report is not None:
            from ..comparing.single import write_run

            write_run(run, out, report, links=links, conclusion=conclusion)
    if as_json:
        files = {} if report is None else {"report": str(report)}
        told = {"conclusion": conclusion.as_dict(), "folder": str(folder), "links": links}
        typer.echo(json.dumps(_as_dict(result) | told | files))
        return
    console = Console(highlight=False)
    show_result(run, result, folder, console)
    show_places(links, report, ledger)
    show_conclusion(conclusion, console)


def _train(
    what: str,
    run: "Run",
    results: Iterator["Result"],
    *,
    saved: str | Callable[[], str],
    quiet: bool,
) -> "Result":
    """Make the run round by round, and return its result."""
    with options.progress(what, run.task.n_rounds, quiet=quiet) as show, stopping(saved):
        for result in results:
            show(result.n_done, news(result))
    return result


def _train_unattacked(run: "Run", folder: Path, *, device: str, quiet: bool) -> None:
    """Make the same run with honest clients only, unless it is stored."""
    from ..lab.choices import unattacked
    from ..runs.recording import run_and_record

    twin, again = unattacked(run), same_command("--resume")
    saved = f"The training under attack is stored in {folder}. To finish the comparison: {again}"
    results = run_and_record(twin, folder, device=device)
    _train("rounds without attackers", twin, results, saved=saved, quiet=quiet)


def _saved(run: "Run", folder: Path) -> str:
    """Return what is stored of a run that was interrupted, and how to resume it."""
    from ..runs.recording import find_current

    found, _ = find_current(run, folder)
    if found is None or found.finished:  # an older result, which stays
        return "No round is stored yet: the same command starts over."
    n_rounds, again = run.task.n_rounds, same_command("--resume")
    return f"{found.n_done} of {n_rounds} rounds are stored in {folder}. To resume: {again}"


def _as_dict(result: "Result") -> dict[str, Any]:
    head = {name: getattr(result, name) for name in ("key", "description", "version", "device", "data")}
    return head | asdict(result.summary) | {"records": result.records}
