"""Everything that was measured, on one page: every task, attack and defence with its seeds."""

from itertools import groupby

from .stored import Cell, Cells, marked, rate, table

HEAD = """# Everything that was measured

One line per task, attack and defence, as means over the seeds: accuracy, attack success, and how many seeds (fewer than three are
*preliminary*). An attack of several parts is a backdoor with ways to hide it, `edge-case+sleeper`; a defence that begins with
`factions+` has the [watch](../watch.md) in front. Where the attack has no target, there is no attack success. Results with other
settings than the usual are in [All tables](tables.md).

"""


def make(cells: Cells) -> dict[str, str]:
    """Return the page, by its address."""
    by_task = {task: list(own) for task, own in groupby(sorted(cells, key=_place), lambda one: one.task)}
    parts = [
        HEAD,
        table([["task", "attacks", "defences", "results"], *map(_counted, by_task.items())], numbers=3),
    ]
    for task, own in by_task.items():
        rows = [["attack", "defence", "accuracy", "attack success", "seeds"], *map(_row, own)]
        parts.append(f"\n## {task}\n\n{table(rows, numbers=3)}")
    return {"results/everything.md": "".join(parts)}


def _place(cell: Cell) -> tuple[str, bool, str, float]:
    """Sort by task, those without an attack first, then the defences that let in least."""
    return cell.task, cell.attack != "none", cell.attack, cell.success or 0.0


def _counted(own: tuple[str, list[Cell]]) -> list[str]:
    task, cells = own
    attacks, defences = ({getattr(cell, name) for cell in cells} for name in ("attack", "defence"))
    return [f"[{task}](#{task})", str(len(attacks - {"none"})), str(len(defences)), str(len(cells))]


def _row(cell: Cell) -> list[str]:
    success = "" if cell.success is None else marked(cell.success)
    few = str(cell.n_seeds) if cell.n_seeds > 2 else f"*{cell.n_seeds}*"
    return [cell.attack, f"`{cell.defence}`", rate(cell.accuracy, digits=3), success, few]
