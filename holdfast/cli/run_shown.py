"""What `holdfast run` shows of a run: a line per round, then a table."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from .._support.counting import counted

if TYPE_CHECKING:
    from ..lab.scenario import Run
    from ..runs.results import Result

__all__ = ["news", "show_places", "show_result"]


def news(result: "Result") -> str:
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


def show_result(run: "Run", result: "Result", folder: Path, console: Console) -> None:
    """Print what was run, the table of its result, and where that is stored."""
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


def show_places(links: Mapping[str, str], report: Path | None, ledger: Path | None) -> None:
    """Print where else the run can be seen: in trackers, on a page, in a ledger."""
    for title, where in links.items():
        typer.echo(f"{title}: {where}")
    if report is not None:
        typer.echo(f"Written: {report}")
    if ledger is not None and ledger.exists():
        typer.echo(
            f"To see its rounds and clients: {shlex.join(['holdfast', 'monitor', '--ledger', str(ledger)])}"
        )


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
