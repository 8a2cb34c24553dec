"""The demo: two tasks under attack, five ways for the server to answer."""

from dataclasses import dataclass
from pathlib import Path

from ..lab.choices import Numbers, build_run, unattacked
from ..lab.scenario import Run
from ..runs.results import Result, load_result

__all__ = ["CONTESTS", "DEFENCES", "Contest", "contests", "verdict"]

#: In words: what each does with the clients' updates.
DEFENCES = {
    "fedavg": "averages all: no defence",
    "rfa": "geometric median",
    "and_mask": "mean where signs agree",
    "trimmed_mean": "mean without extremes",
    "invariant": "the last two together",
}


@dataclass(frozen=True)
class Contest:
    """A task under an attack: its runs by defence, one without attackers, and how to speak of it.

    >>> contest = contests()[0]
    >>> contest.title, list(contest.runs) == list(DEFENCES), contest.honest.attack.n_malicious
    ('Phishing mail', True, 0)
    """

    title: str
    story: str
    runs: dict[str, Run]

    @property
    def honest(self) -> Run:
        """Plain averaging where nobody attacks."""
        return unattacked(self.runs["fedavg"])

    @property
    def everything(self) -> list[Run]:
        """All runs."""
        return [self.honest, *self.runs.values()]

    def results(self, folder: Path) -> tuple[Result, dict[str, Result]]:
        """Return what came out: without attackers, and by defence."""
        attacked = {name: load_result(run, folder) for name, run in self.runs.items()}
        return load_result(self.honest, folder), attacked


CONTESTS = (
    (
        "Phishing mail",
        "Attackers teach the model that phishing mail with one odd sender score is harmless (an edge case).",
        "phishing",
        "edge-case",
    ),
    (
        "Handwritten digits",
        "Attackers teach the model that a digit with four white corners is a nought, each showing one corner"
        " (a distributed trigger).",
        "digits",
        "distributed",
    ),
)


def contests(*, seed: int = 0, n_rounds: int | None = None) -> list[Contest]:
    """Return the demo's contests.

    >>> [contest.runs["rfa"].task.name for contest in contests()]
    ['phishing', 'digits']
    """
    numbers = Numbers(n_rounds=n_rounds)
    return [
        Contest(
            title,
            story,
            {
                name: build_run(task, attack=attack, defence=name, seed=seed, numbers=numbers)
                for name in DEFENCES
            },
        )
        for title, story, task, attack in CONTESTS
    ]


def verdict(result: Result, honest: Result) -> str:
    """Return what became of the backdoor, in two or three words.

    >>> from dataclasses import replace
    >>> start = Result.start(contests()[0].honest)
    >>> clean = replace(start, records=({"accuracy": 0.99, "attack_success": 0.01},))
    >>> verdict(replace(start, records=({"accuracy": 0.99, "attack_success": 0.9},)), clean)
    'let in'
    """
    success, accuracy = result.last("attack_success") or 0.0, result.last("accuracy") or 0.0
    if accuracy < (honest.last("accuracy") or 0.0) - 0.2:
        return "hardly learns"
    if success < 0.2:
        return "kept out"
    return "half in" if success < 0.6 else "let in"
