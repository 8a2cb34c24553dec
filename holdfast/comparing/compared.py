"""What came out of a comparison: numbers, a table, a figure, a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .._support.atomic import write_whole
from ..paper.comparison import ATTACKED
from ..paper.experiment import Document
from ..report.comparisons import NUMBERS, comparison_text
from ..report.conclusions import Conclusion
from ..report.curves import curves
from ..report.pages import results_page
from ..report.tables import cells_by_row
from .frames import data_frame

__all__ = ["Comparison"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Defences side by side, under an attack and without it. Made by `holdfast.lab.compare`.

    `print` shows it, a notebook too.
    """

    document: Document  # as reports take it: experiments, cells, runs, all plain values

    @property
    def experiment(self) -> Document:
        """The table behind it: one row per defence, under attack and without."""
        (experiment,) = self.document["experiments"]
        found: Document = experiment
        return found

    @property
    def baseline(self) -> str | None:
        """The defence that the others are compared with, seed by seed."""
        named: str | None = self.experiment["baseline"]
        return named

    @property
    def seeds(self) -> list[int]:
        """The seeds of each defence's runs."""
        return [self.document["runs"][key]["seed"] for key in self.experiment["cells"][0]["keys"]]

    @property
    def conclusion(self) -> Conclusion:
        """Whether the backdoor got in, who looks guilty, and what to do next."""
        return Conclusion(**self.document["conclusion"])

    @cached_property
    def standings(self) -> list[dict[str, Any]]:
        """The numbers of each defence over the seeds, and the keys of the runs behind them.

        `against` has by the same names its differences to the baseline, if there is one.
        """
        return [self._standing(row, cells) for row, cells in cells_by_row(self.experiment)]

    def _standing(self, row: str, cells: Sequence[Any]) -> dict[str, Any]:
        attacked, honest = cells
        measured = {cell["column"]: cell["measured"] for cell in cells}
        places = {name: (measured[column], number) for name, (_, column, number) in NUMBERS.items()}
        against = {
            name: found["against"][number]
            for name, (found, number) in places.items()
            if number in found.get("against", {})
        }
        return {
            "defence": row,
            **{name: found[number] for name, (found, number) in places.items() if number in found},
            **({"against": against} if against else {}),
            "attacked": attacked["keys"],
            "honest": honest["keys"],
        }

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """What was measured, one dictionary per run and round; a column that a run lacks is None."""
        runs = self.document["runs"]
        names = dict.fromkeys(name for run in runs.values() for name in run["series"])
        return [
            {
                "defence": cell["row"],
                "attacked": cell["column"] == ATTACKED,
                "seed": runs[key]["seed"],
                "round": number,
                **{name: runs[key]["series"].get(name, [None] * number)[number - 1] for name in names},
            }
            for cell in self.experiment["cells"]
            for key in cell["keys"]
            for number in range(1, runs[key]["n_rounds"] + 1)
        ]

    def table(self) -> str:
        """Return the numbers of all defences as plain text."""
        return comparison_text(self.experiment, "text")

    def to_latex(self) -> str:
        """Return the same table for LaTeX."""
        return comparison_text(self.experiment, "latex")

    def to_pandas(self) -> Any:
        """Return the records as a pandas DataFrame."""
        return data_frame(self.records)

    def figure(self, *, attacked: bool = True) -> Any:
        """Return accuracy and attack success by round, under attack or without, as a matplotlib figure."""
        runs = self.document["runs"]
        cells = [cell for cell in self.experiment["cells"] if (cell["column"] == ATTACKED) == attacked]
        lines = {cell["row"]: [runs[key]["series"] for key in cell["keys"]] for cell in cells}
        return curves(lines, title=f"{self.experiment['title']} ({cells[0]['column']})")

    def page(self, path: str | Path) -> Path:
        """Write everything as one HTML page, and return where it is."""
        write_whole(Path(path), results_page(self.document, title="Defences side by side").encode())
        return Path(path)

    def __repr__(self) -> str:
        """Return the table."""
        return self.table()

    def _repr_html_(self) -> str:
        return comparison_text(self.experiment, "html")
