"""Defences side by side: what each came to over its seeds, under attack and without."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..lab.choices import unattacked
from ..lab.scenario import Run
from ..runs.results import Result, load_result
from ..runs.spread import Spread

__all__ = ["Spread", "Standing", "runs_of", "standings"]


@dataclass(frozen=True)
class Standing:
    """What a defence came to: the last round's numbers over the seeds, and the results behind them.

    >>> Standing("median", (), ()).accuracy is None
    True
    """

    defence: str
    attacked: tuple[Result, ...]
    honest: tuple[Result, ...]  # the same runs without an attacker, the backdoor still measured

    @property
    def accuracy(self) -> Spread | None:
        """Of the clean test examples, the share answered rightly, under attack."""
        return Spread.of(result.last("accuracy") for result in self.attacked)

    @property
    def attack_success(self) -> Spread | None:
        """Of the inputs with the backdoor, the share that gets the attackers' label."""
        return Spread.of(result.last("attack_success") for result in self.attacked)

    @property
    def honest_accuracy(self) -> Spread | None:
        """The accuracy where nobody attacks."""
        return Spread.of(result.last("accuracy") for result in self.honest)

    @property
    def honest_success(self) -> Spread | None:
        """The share that gets that label anyway, where nobody attacks."""
        return Spread.of(result.last("attack_success") for result in self.honest)

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers, by name, and the keys of the runs, ready for json.dumps."""
        numbers = ("accuracy", "attack_success", "honest_accuracy", "honest_success")
        spreads = {name: getattr(self, name) for name in numbers}
        return {
            "defence": self.defence,
            **{name: None if spread is None else asdict(spread) for name, spread in spreads.items()},
            "attacked": [result.key for result in self.attacked],
            "honest": [result.key for result in self.honest],
        }


def runs_of(contest: Mapping[str, Sequence[Run]]) -> list[Run]:
    """Return all runs that the standings need: those under attack, and the same without.

    >>> from holdfast.lab.choices import build_run
    >>> len(runs_of({"median": [build_run("digits", attack="edge-case", defence="median")]}))
    2
    """
    attacked = [run for runs in contest.values() for run in runs]
    return [*attacked, *map(unattacked, attacked)]


def standings(contest: Mapping[str, Sequence[Run]], folder: Path, *, device: str = "cpu") -> list[Standing]:
    """Return how the defences stand, from the results in the folder.

    >>> standings({}, Path("results"))
    []
    """

    def results(runs: Iterable[Run]) -> tuple[Result, ...]:
        return tuple(load_result(run, folder, device=device) for run in runs)

    return [Standing(name, results(runs), results(map(unattacked, runs))) for name, runs in contest.items()]
