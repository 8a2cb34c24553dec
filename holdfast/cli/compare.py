"""holdfast compare: several defences against one attack, over several seeds."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from . import options
from .making import make_shown
from .shown import errors_shown

if TYPE_CHECKING:
    from ..lab.scenario import Run
    from ..report.comparison import Standing

__all__ = ["compare_command"]


def compare_command(
    task: options.TaskName,
    attack: options.AttackName = "edge-case",
    defences: Annotated[str, typer.Option(help="Names, with commas.")] = "fedavg,trimmed_mean,invariant",
    seeds: Annotated[int, typer.Option(min=1, help="How often each is run: with the seeds 0, 1, 2, ...")] = 3,
    set_: options.Settings = None,
    rounds: options.Rounds = None,
    clients: options.Clients = None,
    per_round: options.PerRound = None,
    malicious: options.Malicious = None,
    sampling: options.Sampled = options.Sampling.UNIFORM,
    scale: options.Scale = "cpu",
    device: options.Device = "cpu",
    out: options.Out = Path("results"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one a core.")] = None,
    as_json: options.Json = False,
) -> None:
    """Run defences side by side, with the attack and without; what is stored already is not run again.

    >>> compare_command.__name__
    'compare_command'
    """
    names = [name.strip() for name in defences.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("name at least one", param_hint="--defences")
    with errors_shown():
        from ..lab.choices import build_contest
        from ..report.comparison import runs_of, standings

        counts = options.numbers(rounds, clients, per_round, malicious)
        names_: Any = {"attack": attack, "sampling": sampling.value, "scale": scale}
        settings = options.settings(set_)
        contest = build_contest(task, names, n_seeds=seeds, settings=settings, numbers=counts, **names_)
        make_shown(runs_of(contest), out, workers=workers, device=device, quiet=as_json)
        found = standings(contest, out, device=device)
        figure = _figure(found, contest[names[0]][0], out)
    if as_json:
        rows = [standing.as_dict() for standing in found]
        document = {"task": task, "attack": attack, "seeds": seeds, "figure": figure, "standings": rows}
        typer.echo(json.dumps(document, indent=2, default=str))
    else:
        _show(found, contest[names[0]][0], seeds, figure, Console(highlight=False))


def _figure(found: "list[Standing]", run: "Run", out: Path) -> Path | None:
    if find_spec("matplotlib") is None:
        return None
    from ..report.curves import draw_curves

    attackers = f"{run.attack.n_malicious} of {run.task.n_clients} clients attack ({run.attack.name})"
    title = f"{run.task.name}: {attackers}"
    return draw_curves(found, out / f"{run.task.name}-{run.attack.name}.png", title=title)


def _show(found: "list[Standing]", run: "Run", seeds: int, figure: Path | None, console: Console) -> None:
    console.print(
        f"[bold]{run.task.name}[/bold], {run.task.n_rounds} rounds, {run.task.n_per_round} of"
        f" {run.task.n_clients} clients a round; {run.attack.n_malicious} are malicious ({run.attack.name})\n"
    )
    table = Table(
        caption="Acc: clean inputs answered rightly. ASR: inputs with the backdoor that get the attackers'"
        f" label; without an attack, those that get it anyway. The mean of {seeds} seed{'s' * (seeds > 1)}"
        " after the last round (lowest-highest).",
        caption_justify="left",
    )
    table.add_column("defence")
    for title in ("Acc", "ASR", "Acc, no attack", "ASR, no attack"):
        table.add_column(title, justify="right")
    for one in found:
        cells = (one.accuracy, one.attack_success, one.honest_accuracy, one.honest_success)
        table.add_row(one.defence, *("" if cell is None else str(cell) for cell in cells))
    console.print(table)
    missing = "For a figure: pip install 'holdfast\\[report]'"
    console.print(missing if figure is None else f"By round: {figure}", soft_wrap=True)
