"""holdfast run: one training under attack, watched round by round."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from . import options
from .shown import errors_shown

if TYPE_CHECKING:
    from ..lab.scenario import Run
    from ..runs.results import Result

__all__ = ["run_command"]


def run_command(
    task: options.TaskName,
    attack: options.AttackName = "none",
    defence: Annotated[str, typer.Option(help="The server's rule; see 'holdfast list defences'.")] = "fedavg",
    set_: options.Settings = None,
    rounds: options.Rounds = None,
    clients: options.Clients = None,
    per_round: options.PerRound = None,
    malicious: options.Malicious = None,
    seed: Annotated[int, typer.Option(help="Of all random numbers.")] = 0,
    sampling: options.Sampled = options.Sampling.UNIFORM,
    scale: options.Scale = "cpu",
    device: options.Device = "cpu",
    out: options.Out = Path("results"),
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the same run stopped.")] = False,
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TRACKER[:WHERE]",
            help="Also log to tensorboard[:FOLDER], mlflow[:URI] or wandb[:PROJECT]. Repeatable.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Train a model with honest and malicious clients, and see whether the backdoor gets in.

    >>> run_command.__name__
    'run_command'
    """
    with errors_shown():
        from ..lab.choices import build_run
        from ..runs.results import result_path, run_and_record
        from ..runs.tracking import tracked, tracker_named

        settings, counts = options.settings(set_), options.numbers(rounds, clients, per_round, malicious)
        names: Any = {"attack": attack, "defence": defence, "sampling": sampling.value, "scale": scale}
        run = build_run(task, settings=settings, numbers=counts, seed=seed, **names)
        results = run_and_record(run, out, resume=resume, device=device)
        for tracker in [tracker_named(name) for name in track or ()]:
            results = tracked(results, tracker)
        with options.progress(quiet=as_json) as bar:
            line = bar.add_task("round", total=run.task.n_rounds, said="")
            for result in results:
                bar.update(line, completed=len(result.records), said=_news(result))
    path = result_path(run, out)
    if as_json:
        typer.echo(json.dumps(asdict(result) | {"file": str(path)}))
    else:
        _show(run, result, path, Console(highlight=False))


def _news(result: "Result") -> str:
    """Return the last round in a few words."""
    if not result.records:
        return ""
    parts = [f"Acc {_percent(result.last('accuracy'))}"]
    for title, name in (("ASR", "attack_success"), ("kept", "kept_fraction")):
        if result.last(name) is not None:
            parts.append(f"{title} {_percent(result.last(name))}")
    return "  ".join([*parts, f"attackers {result.last('n_attackers')}"])


def _show(run: "Run", result: "Result", path: Path, console: Console) -> None:
    attackers = "nobody attacks"
    if run.attack.n_malicious:
        attackers = f"{run.attack.n_malicious} of {run.task.n_clients} clients attack ({run.attack.name})"
    console.print(
        f"[bold]{run.task.name}[/bold], {run.task.n_rounds} rounds, seed {run.seed}: "
        f"{attackers}; the server uses [bold]{run.defence.aggregate}[/bold]\n"
    )
    table = Table.grid(padding=(0, 2))
    for column in ({}, {"justify": "right", "style": "bold"}, {}):
        table.add_column(**column)  # type: ignore[arg-type]
    for row in _rows(run, result):
        table.add_row(*row)
    console.print(table)
    console.print(f"\nEvery round is in {path}, the model beside it in {path.stem}.npz", soft_wrap=True)


def _rows(run: "Run", result: "Result") -> list[tuple[str, str, str]]:
    success, kept = result.last("attack_success"), result.mean("kept_fraction")
    dropped = sum(len(record["diagnostics"]["dropped"]) for record in result.records)
    rows = [
        ("accuracy (Acc)", _percent(result.last("accuracy")), "of clean test inputs are answered rightly")
    ]
    if success is not None:
        whose = "get the label that the attackers want"
        rows.append(("attack success (ASR)", _percent(success), f"of inputs with the backdoor {whose}"))
    if kept is not None:
        rows.append(("kept", _percent(kept), "of the model's numbers move in a round, the rest is masked"))
    if run.attack.n_malicious:
        mean = f"{result.mean('n_attackers'):.1f}"
        rows.append(("attackers", mean, f"of the {run.task.n_per_round} clients of a round, on average"))
    if dropped:
        rows.append(
            ("dropped", str(dropped), "updates in all could not be used; the reasons are in the file")
        )
    seconds: Any = result.mean("seconds")
    return [*rows, ("time", f"{seconds:.2f} s", "a round")]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.1%}"
