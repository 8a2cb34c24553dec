"""Measure the rules beside their peers and write what was found: JSON, figures, the README's table.

`make bench` runs this for all sizes, `make bench SIZES=quick` for small ones, which leaves the README alone.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from . import figures, table
from .cases import RESNET18, SIZES, Case, Store, is_disturbed, plan
from .contenders import contenders
from .runner import run
from .summary import summarise

__all__ = ["main"]

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sizes", choices=list(SIZES), default="full")
    options.add_argument("--fresh", action="store_true", help="forget what earlier runs measured")
    chosen = options.parse_args()

    console = Console()
    store = Store(RESULTS / "cases")
    if chosen.fresh:
        store.clear()
    everyone, absent = contenders()
    for package, reason in absent.items():
        console.print(f"[yellow]without {package}: {reason}")
    groups = plan(chosen.sizes, everyone)
    with_progress(groups, store, console)

    write(summarise(groups, store, absent), is_full=chosen.sizes == "full", console=console)


def write(summary: dict[str, Any], *, is_full: bool, console: Console) -> None:
    """Write all results; those of small sizes or a busy machine are drafts, kept out of git."""
    n_disturbed = sum(map(is_disturbed, summary["cases"]))
    is_final = is_full and not n_disturbed
    folder = RESULTS if is_final else RESULTS / "draft"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "aggregation.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    size = (20, RESNET18 if is_full else 1_000_000)
    figures.draw(summary, *size, folder=ROOT / "docs" / "figures" if is_final else folder)
    text = table.lines(summary, *size)
    if is_final:
        table.write_between_markers(ROOT / "README.md", text)
    console.print("\n".join([*text, "", *table.details(summary)]), markup=False, soft_wrap=True)
    for record in summary["cases"]:
        if record["status"] != "measured":
            case = f"{record['kind']} of {record['contender']}, {record['n_clients']} x {record['dim']:,}"
            console.print(f"{record['status']}: {case}: {record['reason']}", markup=False)
    if n_disturbed:
        console.print(f"[yellow]{n_disturbed} cases were disturbed by other processes: this is a draft.")
        console.print("[yellow]Run again when the machine is idle: only those are repeated.")


def with_progress(groups: list[list[Case]], store: Store, console: Console) -> None:
    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("", total=sum(map(len, groups)))

        def report(case: Case, is_done: bool) -> None:
            progress.update(task, advance=int(is_done), description=case.key)

        run(groups, store, report=report)


if __name__ == "__main__":
    main()
