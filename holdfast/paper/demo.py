"""The demo: two trainings under attack, four defences of the server, and what became of the backdoor."""

from collections.abc import Mapping
from types import MappingProxyType

from ..lab.choices import Numbers, build_run, unattacked
from .experiment import Cell, Experiment

__all__ = ["ATTACK", "DEFENCES", "HONEST", "demo_codes", "demo_experiments"]

HONEST = "no attackers"
ATTACK = "edge-case"

#: The rows of each experiment, and in words what the server does with the clients' updates.
DEFENCES: Mapping[str, str] = MappingProxyType(
    {
        HONEST: "averages all",
        "fedavg": "averages all",
        "invariant": "the paper's rule",
        "krum_trimmed_mean": "drops outliers",
        "factions+krum_trimmed_mean": "the same, watched",
    }
)

#: Title, story, task and attack.
CONTESTS = (
    (
        "Phishing mail",
        "Attackers teach the model that phishing mail with one odd sender score is harmless.",
        "phishing",
        ATTACK,
    ),
    (
        "Handwritten digits",
        "Attackers teach the model to read a seven that lies on its side as a one.",
        "digits",
        ATTACK,
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
        defence: build_run(task, attack=attack, defence=defence, seed=seed, numbers=numbers)
        for defence in DEFENCES
        if defence != HONEST
    }
    plain = runs["fedavg"]
    drawn = f"{plain.task.n_per_round} are drawn at random for each of {plain.task.n_rounds} rounds"
    counts = f"{plain.task.n_clients} clients, {plain.attack.n_malicious} of them malicious; {drawn}."
    cells = [
        Cell(row, task, task=task, attack=run.attack.name, defence=run.defence.name, runs=(run,), n_wanted=1)
        for row, run in {HONEST: unattacked(plain), **runs}.items()
    ]
    return Experiment("demo", title, "table", f"{story} {counts}", tuple(cells))


def demo_codes(experiment: Experiment) -> dict[str, str]:
    """Return how each defence of the demo is called in a server of one's own.

    >>> print(demo_codes(demo_experiments()[1])["fedavg"])
    defend(models, fedavg(), base=model, clients=ids, state=state)
    """
    defences = {cell.row: cell.runs[0].defence for cell in experiment.cells if cell.row != HONEST}
    return {
        row: f"defend(models, {one.aggregate}{f', watch={one.watch.name}()' if one.watch else ''}"
        ", base=model, clients=ids, state=state)"
        for row, one in defences.items()
    }
