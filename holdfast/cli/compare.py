"""holdfast compare: several defences against one attack, over several seeds."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from . import options
from .making import make_with_progress
from .shown import errors_shown

__all__ = ["compare_command"]

#: What is shown of a defence: [its name] the title, the cell (under attack, without), the number in the cell.
NUMBERS = {
    "accuracy": ("Acc", 0, "accuracy"),
    "minority_accuracy": ("Acc, minority", 0, "minority_accuracy"),
    "attack_success": ("ASR", 0, "attack_success"),
    "n_found": ("found", 0, "n_found"),
    "n_wronged": ("wrongly", 0, "n_wronged"),
    "honest_accuracy": ("Acc, no attack", 1, "accuracy"),
    "honest_minority_accuracy": ("Acc, minority, no attack", 1, "minority_accuracy"),
    "honest_success": ("ASR, no attack", 1, "attack_success"),
    "honest_n_wronged": ("wrongly, no attack", 1, "n_wronged"),
}


def compare_command(
    task: options.TaskName,
    attack: options.AttackName = "edge-case",
    defences: Annotated[
        str, typer.Option(help="Defences, separated by commas, as RULE or WATCH+RULE.")
    ] = "fedavg,trimmed_mean,invariant",
    watch: options.Watch = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per defence, with the seeds 0, 1, 2, ...")] = 3,
    set_: options.Settings = None,
    rounds: options.Rounds = None,
    clients: options.Clients = None,
    per_round: options.PerRound = None,
    malicious: options.Malicious = None,
    sampling: options.Sampled = options.Sampling.UNIFORM,
    scale: options.Scale = "cpu",
    device: options.Device = "cpu",
    out: options.Out = Path("results"),
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; by default one per core.")] = None,
    as_json: options.Json = False,
) -> None:
    """Run defences side by side, with the attack and without; what is stored already is not run again."""
    names = [name.strip() for name in defences.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("name at least one", param_hint="--defences")
    with errors_shown():
        from ..lab.choices import build_contest
        from ..paper.comparison import comparison
        from ..paper.experiment import document, runs_folder, runs_of

        counts = options.numbers(rounds, clients, per_round, malicious)
        names_: Any = {"attack": attack, "watch": watch, "sampling": sampling.value, "scale": scale}
        settings = options.settings(set_)
        contest = build_contest(task, names, n_seeds=seeds, settings=settings, numbers=counts, **names_)
        experiment = comparison(contest)
        runs = runs_of([experiment]).values()
        make_with_progress(runs, runs_folder(out), workers=workers, device=device, quiet=as_json)
        found = document([experiment], out, scale=scale)
        files = _files(found, out)
    standings = _standings(found["experiments"][0])
    if as_json:
        told = {"task": task, "attack": attack, "seeds": seeds, "files": files, "standings": standings}
        typer.echo(json.dumps(told, indent=2, default=str))
    else:
        _show(found["experiments"][0], standings, seeds, files)


def _files(found: dict[str, Any], out: Path) -> list[Path]:
    """Write the page and the figures, where the packages for them are installed; return the files."""
    if not all(map(find_spec, ("jinja2", "matplotlib"))):
        return []
    from .._support.atomic import write_whole
    from ..report.figures import draw_curves
    from ..report.pages import results_page

    (experiment,) = found["experiments"]
    page = out / f"{experiment['name']}.html"
    write_whole(page, results_page(found, title="Defences side by side").encode())
    return [page, *draw_curves(found, out)]


def _standings(experiment: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the numbers of each defence, under attack and without, and the keys of the runs behind them."""
    by_row: dict[str, list[dict[str, Any]]] = {}
    for cell in experiment["cells"]:
        by_row.setdefault(cell["row"], []).append(cell)
    return [
        {
            "defence": defence,
            **{
                name: cells[place]["measured"][number]
                for name, (_, place, number) in NUMBERS.items()
                if number in cells[place]["measured"]
            },
            "attacked": cells[0]["keys"],
            "honest": cells[1]["keys"],
        }
        for defence, cells in by_row.items()
    ]


def _show(experiment: dict[str, Any], standings: list[dict[str, Any]], seeds: int, files: list[Path]) -> None:
    console = Console(highlight=False)
    console.print(f"[bold]{experiment['title']}[/bold]; {experiment['note']}\n")
    shown = {name: title for name, (title, _, _) in NUMBERS.items() if any(name in one for one in standings)}
    minority = " Minority: the same in the form that a minority has them in." * ("minority_accuracy" in shown)
    watched = " Found: attackers that the watch expelled; wrongly: honest clients." * ("n_found" in shown)
    table = Table(
        caption=f"Acc: clean inputs answered correctly.{minority} ASR: inputs with the backdoor that get the"
        f" attackers' label; without an attack, those that get it anyway.{watched} The mean of"
        f" {seeds} seed{'s' * (seeds > 1)} after the last round (lowest-highest).",
        caption_justify="left",
    )
    table.add_column("defence")
    for title in shown.values():
        table.add_column(title, justify="right")
    for one in standings:
        table.add_row(one["defence"], *(_text(name, one.get(name)) for name in shown))
    console.print(table)
    for file in files:
        console.print(f"Written: {file}", soft_wrap=True)
    if not files:
        console.print("For a page and figures: pip install 'holdfast-fl\\[report]'")


def _text(name: str, spread: dict[str, float] | None) -> str:
    """Return a share in percent, or a count, with the ends of its spread."""
    if spread is None:
        return ""
    mean, low, high = spread["mean"], spread["low"], spread["high"]
    if NUMBERS[name][2].startswith("n_"):
        return f"{mean:.3g} ({low:g}-{high:g})"
    return f"{mean:.1%} ({100 * low:.1f}-{100 * high:.1f})"
