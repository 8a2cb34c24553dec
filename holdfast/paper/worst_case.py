"""Every defence under every attack, task by task: the worst case of each defence is what counts."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from .. import aggregators
from ..lab.attack_parts import ATTACKS, BACKDOORS
from ..lab.choices import build_run, unattacked
from ..lab.defence_names import CLIENT_SIDE, SERVER_SIDE
from .experiment import Cell, Experiment

__all__ = ["WORST_CASES", "WorstCase", "attacks_on", "defences_tried", "worst_of"]

#: The column in which nobody attacks.
HONEST = "no attack"

#: Parts of an attack's name that need no backdoor: they spoil the model for all inputs.
UNTARGETED = ("alie", "inner-product", "sign-flip", "gaussian", "poisoned-fl")

#: The backdoors that some parts were made for; all others are joined to the edge case.
MADE_FOR: Mapping[str, str] = MappingProxyType(
    {"cerberus": "tuned", "f3ba": "distributed", "soda": "foreign"}
)

#: What only a watch can be tried with.
FOR_A_WATCH = ("whitewash",)

#: Defences under a watch that are tried beside all that have no watch.
WATCHED = (
    "factions+fedavg",
    "factions+trimmed_mean",
    "factions+invariant",
    "factions+krum_trimmed_mean",
)

#: What takes hours per run.
SLOW = ("flip_full",)


def defences_tried() -> tuple[str, ...]:
    """Return the names of all rules, of defences in which clients or the server train, and some with a watch.

    >>> {"invariant", "factions+invariant"} <= {*defences_tried()}
    True
    """
    trained = [name for name in (*CLIENT_SIDE, *SERVER_SIDE) if name not in SLOW]
    return (*aggregators.__all__, *trained, *WATCHED)


def attacks_on(task: str) -> tuple[str, ...]:
    """Return the names of all attacks on a task: its backdoors alone, and with one more part each.

    >>> [name for name in attacks_on("digits") if "neurotoxin" in name]
    ['edge-case+neurotoxin']
    """
    parts = [part for part in ATTACKS if part not in UNTARGETED]
    untargeted = [part for part in UNTARGETED if part in ATTACKS]
    joined = (f"{MADE_FOR.get(part, 'edge-case')}+{part}" for part in parts)
    return (*BACKDOORS[task], *joined, *untargeted)


@dataclass(frozen=True)
class WorstCase:
    """A table of defences by attacks on one task. Called, it returns the experiment with its runs.

    >>> WorstCase("worst_case_digits", "digits").title
    'The worst case on digits'
    """

    name: str
    task: str

    @property
    def title(self) -> str:
        """What the table is called."""
        return f"The worst case on {self.task}"

    def __call__(
        self, *, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] | None = None
    ) -> Experiment:
        """Return the experiment at a scale, with so many seeds; without cells if its task is not wanted."""
        wanted = tasks is None or self.task in tasks
        return Experiment(
            self.name,
            self.title,
            "table",
            "Every defence under every attack, all with their defaults. For a defence, the attack that works"
            " best is the number that counts. None of it is in the paper.",
            tuple(self._cells(scale, n_seeds)) if wanted else (),
            over_attacks=True,
        )

    def _cells(self, scale: str, n_seeds: int) -> Iterable[Cell]:
        for defence in defences_tried():
            for attack in (HONEST, *attacks_on(self.task)):
                if defence in WATCHED or attack.rpartition("+")[2] not in FOR_A_WATCH:
                    yield self._cell(defence, attack, scale, n_seeds)

    def _cell(self, defence: str, attack: str, scale: str, n_seeds: int) -> Cell:
        is_honest = attack == HONEST
        planted = "edge-case" if is_honest else attack
        run = build_run(self.task, attack=planted, defence=defence, scale=scale)
        run = unattacked(run) if is_honest else run
        return Cell(
            defence,
            attack,
            task=self.task,
            attack="none" if is_honest else attack,
            defence=defence,
            runs=tuple(run.replace(seed=seed) for seed in range(n_seeds)),
            n_wanted=n_seeds,
        )


def worst_of(cells: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what the attacks in these cells of a document come to at worst; None if none is measured.

    >>> cell = {"attack": "iba", "measured": {"attack_success": {"mean": 0.9}, "accuracy": {"mean": 0.7}}}
    >>> worst_of([cell, {"attack": "a3fl", "measured": None}])["attack_success"]
    0.9
    """
    found = [(cell["attack"], cell["measured"]) for cell in cells if cell["measured"]]
    found = [(attack, measured) for attack, measured in found if attack != "none"]
    success, planted = max(
        ((one["attack_success"]["mean"], attack) for attack, one in found if one["attack_success"]),
        default=(None, None),
    )
    accuracy, spoiled = min(
        ((one["accuracy"]["mean"], attack) for attack, one in found if one["accuracy"]), default=(None, None)
    )
    if accuracy is None:
        return None
    return {
        "attack_success": success,
        "by": planted,
        "accuracy": accuracy,
        "accuracy_by": spoiled,
        "n_attacks": len(found),
    }


WORST_CASES = (
    WorstCase("worst_case_digits", "digits"),
    WorstCase("worst_case_fashion", "fashion-mnist"),
)
