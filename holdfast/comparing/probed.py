"""What came out of a probe: numbers, a table, a figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from textwrap import fill
from typing import Any

from ..core import Rule
from ..errors import InputError
from ..lab.leaks import Let
from ..lab.scenario import Run
from ..paper.studies.rules import RulesProbe
from ..paper.studies.starts import Start
from ..report.grids import markdown_table, on_one_line, text_table
from ..report.leak_figure import leak_figure
from .frames import data_frame

__all__ = ["Probed"]

#: What is measured of a rule: its title in the table, and how it is shown.
NUMBERS: Mapping[str, tuple[str, str]] = {
    "leak": ("leak", "{:.3f}"),
    "gain": ("gain", "{:.2f}"),
    "dose": ("dose", "{:.3f}"),
    "kept_fraction": ("kept", "{:.1%}"),
    "accuracy": ("Acc", "{:.1%}"),
    "attack_success": ("ASR", "{:.1%}"),
    "seconds": ("seconds", "{:.2f}"),
}
ABSENT = "-"


@dataclass(frozen=True, eq=False, repr=False)
class Probed:
    """What every rule made of the same round. Made by `holdfast.lab.probe`.

    `print` shows it, a notebook too.
    """

    run: Run
    start: Start
    rules: Mapping[str, Rule]  # by the name that each is shown with
    found: RulesProbe

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """What was measured, one dictionary per rule and draw; of a rule that could not run, the reason."""
        records = []
        for name, one in zip(self.rules, self.found.rules, strict=True):
            head = {"defence": name, "rule": one.rule}
            if one.reason:
                records.append({**head, "draw": None, **dict.fromkeys(NUMBERS), "reason": one.reason})
            for draw, applied in enumerate(one.draws, start=1):
                numbers = {key: getattr(applied, key) for key in NUMBERS}
                records.append({**head, "draw": draw, **numbers, "reason": ""})
        return records

    @cached_property
    def standings(self) -> list[dict[str, Any]]:
        """One dictionary per rule: of each number mean, lowest and highest over the draws, or None.

        The rules with the smallest dose come first, and last those that could not run.
        """
        standings = []
        for name in self.rules:
            own = [record for record in self.records if record["defence"] == name]
            spreads: dict[str, Any] = {key: _spread([one[key] for one in own]) for key in NUMBERS}
            standings.append({"defence": name, "rule": own[0]["rule"], **spreads, "reason": own[0]["reason"]})
        return sorted(standings, key=_place)

    @property
    def share(self) -> float:
        """The attackers' share of the clients, over all draws."""
        return sum(self.found.n_attackers) / (self.found.n_clients * len(self.found.n_attackers))

    @property
    def title(self) -> str:
        """What was probed, in one line."""
        task, attack = self.run.task.name, self.run.attack.name
        return on_one_line(f"{task}, attack {attack}: one round {self.start}, seed {self.run.seed}")

    @property
    def legend(self) -> str:
        """What the table shows, in words, and which rules could not run."""
        found, n_draws = self.found, len(self.found.n_attackers)
        attackers = " to ".join(map(str, sorted({min(found.n_attackers), max(found.n_attackers)})))
        before = f"Acc is {found.accuracy:.1%}"
        if found.attack_success is not None:
            before += f" and ASR {found.attack_success:.1%}"
        several = f" Means of {n_draws} draws of clients (lowest to highest)." if n_draws > 1 else ""
        masked = any(one["kept_fraction"] for one in self.standings)
        kept = " Kept: the share of the model's numbers that a mask lets through." if masked else ""
        failed = [one for one in self.standings if one["reason"]]
        return (
            "Leak: how much of the attack gets through; plain averaging leaks the attackers' share, here"
            f" {attackers} of {found.n_clients} clients. Gain: how much of the honest step survives. Dose:"
            " how much attack there is to an honest step; below plain averaging's, a rule selects."
            f"{kept} Acc: clean inputs answered"
            " correctly, and ASR: inputs with the backdoor that get the attackers' label, right after the"
            f" step; before it, {before}.{several}"
            + "".join(f" {one['defence']} could not run: {one['reason'].rstrip('.')}." for one in failed)
        )

    def table(self) -> str:
        """Return the numbers of all rules as plain text."""
        return f"{self.title}\n\n{text_table(self._rows)}\n{fill(self.legend, 80)}\n"

    def to_markdown(self) -> str:
        """Return the table alone in Markdown."""
        return markdown_table(self._rows)

    def figure(self) -> Any:
        """Return leak against gain as a matplotlib figure."""
        points = {
            name: [(one["leak"], one["gain"]) for one in self.records if one["defence"] == name]
            for name in self.rules
        }
        shown = {name: pairs for name, pairs in points.items() if None not in sum(pairs, ())}
        if not shown:
            raise InputError("there is nothing to draw: no rule could run on a round with attackers")
        return leak_figure(shown, share=self.share, title=self.title)

    def to_pandas(self) -> Any:
        """Return the records as a pandas DataFrame."""
        return data_frame(self.records)

    def __repr__(self) -> str:
        """Return the table."""
        return self.table()

    def _repr_html_(self) -> str:
        tags = ["th", *["td"] * len(self.rules)]
        rows = "".join(
            f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"
            for tag, cells in zip(tags, self._rows, strict=True)
        )
        return f"<p><b>{escape(self.title)}</b></p><table>{rows}</table><p>{escape(self.legend)}</p>"

    @property
    def _rows(self) -> list[list[str]]:
        """The table as texts, the first row of which is the head."""
        shown = [key for key in NUMBERS if any(one[key] for one in self.standings)]
        rows = [["defence", *(NUMBERS[key][0] for key in shown)]]
        for one in self.standings:
            rows.append([one["defence"], *(_text(one[key], key) for key in shown)])
        return rows


def _spread(numbers: Sequence[float | None]) -> dict[str, float] | None:
    """Return mean, lowest and highest of the numbers; None where there are none."""
    known = [number for number in numbers if number is not None]
    if not known:
        return None
    return {"mean": sum(known) / len(known), "low": min(known), "high": max(known)}


def _place(standing: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """Return what the standings are sorted by."""
    dose = standing["dose"]
    return bool(standing["reason"]), dose is None, dose["mean"] if dose else 0.0


def _text(spread: Mapping[str, float] | None, key: str) -> str:
    """Return a number; what was let through with the ends of its spread, if it has one."""
    if spread is None:
        return ABSENT
    mean, *ends = (NUMBERS[key][1].format(spread[part]) for part in ("mean", "low", "high"))
    has_spread = key in Let._fields and ends[0] != ends[1]
    return f"{mean} ({' to '.join(ends)})" if has_spread else mean
