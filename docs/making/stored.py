"""Stored results as cells: a task, an attack, a defence, and how both sides fared."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.paper.evidence import evidence
from holdfast.paper.studies.store import list_studies, studies_folder

#: Tables in which every defence has its usual settings. Where two have the same cell, the first counts.
TABLES = ("table1", "real_tables", "watch", "watch_distributed", "hiding", "worst_case", "minorities")
#: From this attack success on, an attack has got in; up to the other, it is kept out.
IN, OUT = 0.5, 0.1
PLAIN = "fedavg"
WATCH, WARY = "factions+", 'factions(mode="wary")+'


@dataclass(frozen=True)
class Cell:
    """What was measured of one defence under one attack on one task, as means over the seeds."""

    task: str
    attack: str
    defence: str
    accuracy: float
    success: float | None  # None: the attack has no target
    n_seeds: int

    @property
    def shown(self) -> str:
        """Accuracy and attack success, as the tables have them.

        >>> Cell("digits", "edge-case", "fedavg", 0.966, 0.983, 3).shown
        '.966 / .98'
        """
        few = f" ({self.n_seeds})" if self.n_seeds < 3 else ""
        success = "" if self.success is None else f" / {rate(self.success)}"
        return f"{rate(self.accuracy, digits=3)}{success}{few}"


class Cells:
    """All cells, to be asked for by their names."""

    def __init__(self, cells: Iterable[Cell]) -> None:
        """Hold cells; of the same place, the first counts."""
        self.by_place: dict[tuple[str, str, str], Cell] = {}
        for cell in cells:
            self.by_place.setdefault((cell.task, cell.attack, cell.defence), cell)

    def __iter__(self) -> Iterator[Cell]:
        """Iterate in the order of the tables."""
        return iter(self.by_place.values())

    def at(self, task: str, attack: str, defence: str) -> Cell | None:
        """Return a cell, None where nothing was measured."""
        return self.by_place.get((task, attack, defence))

    def of(self, defence: str) -> list[Cell]:
        """Return all cells of a defence under an attack."""
        return [cell for cell in self if cell.defence == defence and cell.attack != "none"]

    def under(self, part: str) -> list[Cell]:
        """Return all cells of attacks with this part in their name."""
        return [cell for cell in self if part in cell.attack.split("+")]


def load(root: Path) -> Cells:
    """Return the cells of all stored results."""
    found = evidence(TABLES, root / "results")
    measured = (
        (experiment["name"], cell)
        for experiment in found["experiments"]
        for cell in experiment["cells"]
        if cell["measured"] and "watch that reports" not in cell["row"]
    )
    return Cells(
        Cell(
            cell["task"],
            cell["attack"],
            _name(cell),
            cell["measured"]["accuracy"]["mean"],
            (cell["measured"].get("attack_success") or {}).get("mean"),
            cell["n_seeds"],
        )
        for _, cell in measured
    )


def _name(cell: dict[str, Any]) -> str:
    """Return a defence's name; a watch that is not set as usual is told by its row."""
    name = str(cell["defence"])
    return name.replace(WATCH, WARY) if "wary watch" in cell["row"].lower() else name


def is_watched(defence: str) -> bool:
    """Return whether there is a watch in a defence."""
    return defence.startswith((WATCH, WARY))


def seconds(root: Path) -> dict[str, float]:
    """Return what each rule took for one round of 20 clients of a ResNet-18, where that was measured."""
    found: dict[str, float] = {}
    for entry in list_studies(studies_folder(root / "results"))[0]:
        task = entry["description"]["run"]["task"]
        is_probe = entry["description"]["study"].startswith("rules_on_a_round(")
        is_large = task["name"] == "cifar10" and task["model"].startswith("resnet18(")
        if is_probe and is_large and len(entry["found"]["rules"]) > 10:
            for one in entry["found"]["rules"]:
                found[one["rule"].partition("(")[0]] = one["draws"][0]["seconds"]
    return found


def rate(value: float, *, digits: int = 2) -> str:
    """Return a rate without the nought in front.

    >>> rate(0.043), rate(1.0)
    ('.04', '1.00')
    """
    return f"{value:.{digits}f}".removeprefix("0")


def marked(success: float) -> str:
    """Return attack success in the colour of what it means."""
    kind = "bad" if success >= IN else "good" if success <= OUT else "even"
    return f'<span class="{kind}">{rate(success)}</span>'


def table(rows: Iterable[list[str]], *, numbers: int = 0) -> str:
    """Return a Markdown table, the first row its head, its last columns numbers."""
    head, *body = rows
    line = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    return "".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n" for row in [head, line, *body]
    )
