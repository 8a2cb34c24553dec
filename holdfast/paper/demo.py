"""The demo: two tasks under attack, and five rules for the server, as experiments with one run per cell."""

from collections.abc import Mapping
from types import MappingProxyType

from ..lab.choices import Numbers, build_run, unattacked
from .experiment import Cell, Document, Experiment

__all__ = ["RULES", "demo_experiments", "demo_verdicts"]

HONEST = "no attackers"

#: The rows of each experiment, and in words what the server does with the clients' updates.
RULES: Mapping[str, str] = MappingProxyType(
    {
        HONEST: "averages honest clients",
        "fedavg": "averages all: no defence",
        "rfa": "geometric median",
        "and_mask": "mean where signs agree",
        "trimmed_mean": "mean without extremes",
        "invariant": "the last two together",
    }
)

#: Title, story, task and attack.
CONTESTS = (
    (
        "Phishing mail",
        "Attackers teach the model that phishing mail with one odd sender score is harmless (an edge case).",
        "phishing",
        "edge-case",
    ),
    (
        "Handwritten digits",
        "Attackers teach the model that a digit with four white corners is a zero. Each of them shows only"
        " one corner (a distributed trigger).",
        "digits",
        "distributed",
    ),
)


def demo_experiments(*, seed: int = 0, n_rounds: int | None = None) -> list[Experiment]:
    """Return the demo's experiments, one per task."""
    return [_experiment(*contest, seed=seed, n_rounds=n_rounds) for contest in CONTESTS]


def _experiment(
    title: str, story: str, task: str, attack: str, *, seed: int, n_rounds: int | None
) -> Experiment:
    numbers = Numbers(n_rounds=n_rounds)
    runs = {
        rule: build_run(task, attack=attack, defence=rule, seed=seed, numbers=numbers)
        for rule in RULES
        if rule != HONEST
    }
    plain = runs["fedavg"]
    drawn = f"{plain.task.n_per_round} are drawn at random for each of {plain.task.n_rounds} rounds"
    counts = f"{plain.task.n_clients} clients, {plain.attack.n_malicious} of them malicious; {drawn}."
    cells = [
        Cell(row, task, task=task, attack=run.attack.name, defence=run.defence.name, runs=(run,), n_wanted=1)
        for row, run in {HONEST: unattacked(plain), **runs}.items()
    ]
    return Experiment("demo", title, "table", f"{story} {counts}", tuple(cells))


def demo_verdicts(experiment: Document) -> dict[str, str]:
    """Return for each row of a measured experiment what became of the backdoor, in two or three words."""
    means = {
        cell["row"]: (cell["measured"]["accuracy"]["mean"], cell["measured"]["attack_success"]["mean"])
        for cell in experiment["cells"]
    }
    honest, _ = means[HONEST]
    return {row: "" if row == HONEST else _verdict(*mean, honest) for row, mean in means.items()}


def _verdict(accuracy: float, success: float, honest: float) -> str:
    if accuracy < honest - 0.2:
        return "hardly learns"
    if success < 0.2:
        return "kept out"
    return "half in" if success < 0.6 else "let in"
