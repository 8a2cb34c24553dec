"""holdfast run: one training under attack, watched round by round."""

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .._support.counting import counted
from .._support.writable import check_writable_folder
from . import options
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
    _show(run, result, folder, console)
    for title, where in links.items():
        typer.echo(f"{title}: {where}")
    if report is not None:
        typer.echo(f"Written: {report}")
    if ledger is not None and ledger.exists():
        typer.echo(
            f"To see its rounds and clients: {shlex.join(['holdfast', 'monitor', '--ledger', str(ledger)])}"
        )
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
            show(result.n_done, _news(result))
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


def _news(result: "Result") -> str:
    """Return the last round in a few words."""
    if not result.n_done:
        return ""
    parts = [f"Acc {_percent(result.last('accuracy'))}"]
    shown = (("minority", "minority_accuracy"), ("ASR", "attack_success"), ("kept", "kept_fraction"))
    for title, name in shown:
        if result.last(name) is not None:
            parts.append(f"{title} {_percent(result.last(name))}")
    parts.append(f"attackers {result.last('n_attackers')}")
    if result.last("n_found") is not None:
        parts.append(f"found {result.last('n_found')}, wrongly {result.last('n_wronged')}")
    return "  ".join(parts)


def _show(run: "Run", result: "Result", folder: Path, console: Console) -> None:
    attackers = "nobody attacks"
    if run.attack.n_malicious:
        attackers = f"{run.attack.n_malicious} of {run.task.n_clients} clients attack ({run.attack.name})"
    rounds = counted(run.task.n_rounds, "round")
    console.print(
        f"[bold]{run.task.name}[/bold], {rounds}, seed {run.seed}: "
        f"{attackers}; the server uses [bold]{run.defence.aggregate}[/bold]"
        + (f" under the watch of [bold]{run.defence.watch}[/bold]" if run.defence.watch else "")
        + "\n"
    )
    table = Table.grid(padding=(0, 2))
    for column in ({}, {"justify": "right", "style": "bold"}, {}):
        table.add_column(**column)  # type: ignore[arg-type]
    for row in _rows(run, result):
        table.add_row(*row)
    console.print(table)
    console.print(f"\nThe result {result.key} is stored in {folder}.", soft_wrap=True)


def _rows(run: "Run", result: "Result") -> list[tuple[str, str, str]]:
    minority, success = result.last("minority_accuracy"), result.last("attack_success")
    kept = result.mean("kept_fraction")
    reasons = result.summary.dropped
    waiting = sum(count for reason, count in reasons.items() if reason.startswith("new: "))
    dropped = sum(reasons.values()) - waiting
    rows = [
        ("accuracy (Acc)", _percent(result.last("accuracy")), "of clean test inputs are answered correctly")
    ]
    if minority is not None:
        whose = f"of them in the form that {run.task.n_minority} of {run.task.n_clients} clients hold"
        rows.append(("minority accuracy", _percent(minority), whose))
    if success is not None:
        whose = "get the label that the attackers want"
        rows.append(("attack success (ASR)", _percent(success), f"of inputs with the backdoor {whose}"))
    if kept is not None:
        rows.append(
            ("kept", _percent(kept), "of the model's parameters move in a round; the rest are masked")
        )
    if run.attack.n_malicious:
        mean = f"{result.mean('n_attackers'):.1f}"
        rows.append(("attackers", mean, f"of the {run.task.n_per_round} clients of a round, on average"))
    leak, gain = result.mean("leak"), result.mean("gain")
    if leak is not None and gain is not None:
        rows.append(("leak", f"{leak:z.3f}", "of the attack gets into the model in a round, on average"))
        rows.append(("gain", f"{gain:.2f}", "of the honest clients' step survives"))
    if result.summary.watched is not None:
        rows += _watch_rows(run, result)
    if waiting:
        rows.append(("newcomers", str(waiting), "times a client was new, and its update not used yet"))
    if dropped:
        what = "update" if dropped == 1 else "updates"
        rows.append(("dropped", str(dropped), f"{what} in all could not be used; --json says why"))
    seconds: Any = result.mean("seconds")
    return [*rows, ("time", f"{seconds:.2f} s", "per round")]


def _watch_rows(run: "Run", result: "Result") -> Iterator[tuple[str, str, str]]:
    """Yield whom the watch found, and what that took."""
    from ..runs.verdicts import restored_verdicts

    watched: Any = result.summary.watched
    n_clients, n_malicious = run.task.n_clients, run.attack.n_malicious
    since = [
        one.since
        for one in restored_verdicts(watched["verdicts"])
        if one.since and one.client % n_clients in result.summary.malicious  # a whitewashed id is beyond
    ]
    is_report = dict(run.defence.watch.settings).get("mode") == "report"
    fate = f"named{_since(since)}; nobody is excluded" if is_report else f"expelled{_since(since)}"
    if n_malicious:
        yield "attackers found", f"{result.last('n_found')} of {n_malicious}", fate
    yield "wrongly found", f"{result.last('n_wronged')} of {n_clients - n_malicious}", "honest clients"
    if watched["hearings"]:
        yield "hearing", str(len(watched["hearings"])), "rounds in which nothing was applied"
    for number in watched["rewinds"]:
        yield "rewind", str(number), "the round in which the model went back to its start"


def _since(rounds: list[int]) -> str:
    if not rounds:
        return ""
    first, last = min(rounds), max(rounds)
    return (
        f" since round {first}"
        if first == last
        else f", the first since round {first}, the last since round {last}"
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
