"""What `holdfast reproduce` prints: the plan, the tables, the claims."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from .._support.counting import counted

if TYPE_CHECKING:
    from ..paper.reproduction import RunPlan

__all__ = ["plan_as_dict", "show_document", "show_plan"]

COLOURS = {"holds": "green", "does not hold": "red", "preliminary": "yellow", "not measured": "dim"}


def plan_as_dict(plan: "RunPlan", n_workers: int) -> dict[str, Any]:
    """Return the plan and its cost, ready for json.dumps."""
    left = plan.time_left(n_workers)
    return {
        "n_runs": len(plan.runs),
        "n_missing": len(plan.missing),
        "n_rounds_missing": sum(
            run.task.n_rounds - plan.n_done.get(key, 0) for key, run in plan.missing.items()
        ),
        "n_workers": n_workers,
        "seconds": left.seconds,
        "seconds_unknown_for": list(left.unknown),
        "without_data": dict(plan.without_data),
        "unusable": dict(plan.unusable),
        "missing": [
            {
                "key": key,
                "task": run.task.name,
                "attack": run.attack.name,
                "defence": run.defence.name,
                "seed": run.seed,
                "n_rounds": run.task.n_rounds,
                "n_done": plan.n_done.get(key, 0),
                "seconds_per_round": plan.pace.seconds_per_round(run),
            }
            for key, run in plan.missing.items()
        ],
    }


def show_plan(plan: "RunPlan", n_workers: int, console: Console) -> None:
    """Print what is missing, task by task, and how long it takes."""
    if plan.missing:
        _show_missing(plan, n_workers, console)
    else:
        console.print("Nothing is missing." if not plan.without_data else "Nothing can be run here.")
    _show_left_out(plan, console)


def show_document(
    document: dict[str, Any], figures: Iterable[Path], plan: "RunPlan", console: Console
) -> None:
    """Print every table, ours beside the printed numbers, the files of the figures, and which claims hold."""
    for one in document["experiments"]:
        if one["cells"]:
            console.print(_table(one, document["scale"]), soft_wrap=False)
    for figure in figures:
        console.print(f"Drawn: {figure}", soft_wrap=True, markup=False)
    if document["claims"]:
        console.print(_claims(document["claims"], document["scale"]))
    if document["scale"] == "smoke":
        console.print("The scale smoke shows that everything runs. It says nothing about the claims.")
    _show_left_out(plan, console)


def _show_missing(plan: "RunPlan", n_workers: int, console: Console) -> None:
    table = Table(title="Missing runs", title_justify="left")
    for title in ("task", "runs", "rounds left", "seconds per round", "alone, one worker"):
        is_name = title == "task"  # never cut: it is what --tasks takes
        table.add_column(title, justify="left" if is_name else "right", no_wrap=is_name, overflow="fold")
    for task in dict.fromkeys(run.task.name for run in plan.missing.values()):
        runs = {key: run for key, run in plan.missing.items() if run.task.name == task}
        n_left = sum(run.task.n_rounds - plan.n_done.get(key, 0) for key, run in runs.items())
        left = plan.pace.time_left(runs, plan.n_done, n_workers=1)
        pace = "not known yet" if left.unknown else f"{left.seconds / max(n_left, 1):.2f}"
        table.add_row(task, str(len(runs)), str(n_left), pace, "not known yet" if left.unknown else str(left))
    console.print(table)
    n_finished = len(plan.runs) - len(plan.missing)
    console.print(f"The other {n_finished} of {len(plan.runs)} runs are finished, or lack their data.")
    console.print(f"Time on {counted(n_workers, 'worker')}: {plan.time_left(n_workers)}.")


def _show_left_out(plan: "RunPlan", console: Console) -> None:
    for reason in plan.unusable.values():
        console.print(f"Not used: {reason}", soft_wrap=True, markup=False)
    for task, reason in plan.without_data.items():
        console.print(
            f"Not measured: {task}, because its data is missing: {reason}", soft_wrap=True, markup=False
        )


def _table(one: dict[str, Any], scale: str) -> Table:
    from ..report.tables import cells_by_row, measured_text, printed_text, rounds_text

    caption = (
        f"Accuracy / attack success {rounds_text(one)}, at the scale {scale}; in brackets what"
        f" {one.get('printed_by', 'the paper')} prints. {one['note']}"
    )
    table = Table(title=one["title"], title_justify="left", caption=caption, caption_justify="left")
    table.add_column("", no_wrap=True, overflow="fold")
    for column in one["columns"]:
        table.add_column(column, overflow="fold")
    for row, given in cells_by_row(one):
        cells = []
        for cell in given:
            printed = "" if cell is None else printed_text(cell)
            shown = "" if cell is None else measured_text(cell)
            style = "dim" if cell is not None and cell["measured"] is None else "bold"
            cells.append(f"[{style}]{shown}[/{style}]" + (f"\n\\[{printed}]" if printed else ""))
        table.add_row(row, *cells)
    return table


def _claims(claims: list[dict[str, Any]], scale: str) -> Table:
    from ..report.tables import claims_counted

    table = Table(
        title=f"Claims at the scale {scale}: {claims_counted(claims)}", title_justify="left", show_lines=False
    )
    for title in ("", "claim", "task", "verdict", "numbers"):
        table.add_column(title, no_wrap=title == "task", overflow="fold")
    for one in (one for one in claims if one["verdict"] != "not measured"):
        verdict = f"[{COLOURS[one['verdict']]}]{one['verdict']}[/]"
        stands_in = f" (for {one['stands_in_for']})" if one["stands_in_for"] else ""
        table.add_row(one["source"], one["text"], one["task"] + stands_in, verdict, one["numbers"])
    return table
