"""The demo: two trainings under attack, four defences of the server, and what became of the backdoor."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ..lab.choices import Numbers, build_run, unattacked
from .experiment import Cell, Document, Experiment

__all__ = ["DEFENCES", "Findings", "demo_experiments", "findings"]

HONEST = "no attackers"
KEPT_OUT = "kept out"

#: The rows of each experiment, and in words what the server does with the clients' updates.
DEFENCES: Mapping[str, str] = MappingProxyType(
    {
        HONEST: "averages all",
        "fedavg": "averages all",
        "invariant": "the paper's rule",
        "trimmed_mean": "drops extreme values",
        "factions+trimmed_mean": "the same, watched",
    }
)

#: Title, story, task and attack.
CONTESTS = (
    (
        "Phishing mail",
        "Attackers teach the model that phishing mail with one odd sender score is harmless.",
        "phishing",
        "edge-case",
    ),
    (
        "Handwritten digits",
        "Attackers teach the model that a seven that lies on its side is a one.",
        "digits",
        "edge-case",
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


@dataclass(frozen=True)
class Findings:
    """What the demo's trainings come to, in words; all of it is computed from what was measured."""

    verdicts: tuple[Mapping[str, str], ...]  # of each experiment: [row] what became of the backdoor
    found: tuple[str, ...]  # of each experiment: whom the watch expelled
    advice: str  # which defence to take
    code: str | None  # how to call it, if any is to be taken


def findings(experiments: Sequence[Experiment], measured: Document) -> Findings:
    """Return what the measured experiments come to."""
    shown = measured["experiments"]
    verdicts = tuple(map(row_verdicts, shown))
    best = best_defence(shown)
    code = None
    if best is not None:
        defence = next(cell.runs[0].defence for cell in experiments[0].cells if cell.row == best)
        watch = f", watch={defence.watch.name}()" if defence.watch else ""
        code = f"defend(models, {defence.aggregate}{watch}, base=model, clients=ids, state=state)"
    found = tuple(found_words(one, measured["runs"]) for one in shown)
    return Findings(verdicts, found, advice_words(shown, best), code)


def row_verdicts(experiment: Document) -> dict[str, str]:
    """Return for each row of a measured experiment what became of the backdoor, in two or three words."""
    means = _means(experiment)
    honest, _ = means[HONEST]
    return {row: "" if row == HONEST else _verdict(*mean, honest) for row, mean in means.items()}


def _means(experiment: Document) -> dict[str, tuple[float, float]]:
    """Return accuracy and attack success of each row."""
    return {
        cell["row"]: (cell["measured"]["accuracy"]["mean"], cell["measured"]["attack_success"]["mean"])
        for cell in experiment["cells"]
    }


def _verdict(accuracy: float, success: float, honest: float) -> str:
    if success >= 0.2:
        return "half in" if success < 0.6 else "let in"
    return KEPT_OUT if accuracy >= honest - 0.2 else "hardly learns"


def found_words(experiment: Document, runs: Mapping[str, Document]) -> str:
    """Return whom the watch of a measured experiment expelled, since when, and how many wrongly."""
    (run,) = [runs[key] for cell in experiment["cells"] for key in cell["keys"] if "watch" in runs[key]]
    said, attackers = run["watch"]["rounds"][-1]["clients"], {*run["watch"]["malicious"]}
    since = dict(zip(said["client"], said.get("since", ()), strict=False))
    rounds = sorted(since[client] for client in attackers if since.get(client))
    found = f"{len(rounds)} of the {len(attackers)} attackers that took part"
    if rounds:
        first, last = rounds[0], rounds[-1]
        found += (
            f", in round {first}" if first == last else f", the first in round {first}, the last in {last}"
        )
    n_heard = len(run["watch"]["hearings"])
    listened = f"; in its hearing, the first {n_heard} rounds, the model stayed as it was" if n_heard else ""
    return f"the watch expelled {found}, and {_wronged(run['series']['n_wronged'])}{listened}."


def _wronged(by_round: Sequence[int]) -> str:
    """Return how many honest clients are expelled at the end, and how many were at times."""
    most, last = max(by_round), by_round[-1]
    if most == 0:
        return "no honest client"
    clients = f"{most} honest client{'s' * (most > 1)}"
    return clients if last == most else f"at times {clients}, at the end {last or 'none'}"


def best_defence(experiments: Sequence[Document]) -> str | None:
    """Return the row that keeps the backdoor out of every task, the most completely at its worst, if any."""
    verdicts, means = [row_verdicts(one) for one in experiments], [_means(one) for one in experiments]
    holding = [row for row in verdicts[0] if all(own[row] == KEPT_OUT for own in verdicts)]
    return min(holding, key=lambda row: max(own[row][1] for own in means), default=None)


def advice_words(experiments: Sequence[Document], best: str | None) -> str:
    """Return which defence to take, and why."""
    if best is None:
        return "None of these defences keeps the backdoor out of every task: take none of them."
    means = [_means(one) for one in experiments]
    accuracy, honest = (_listed(f"{own[row][0]:.1%}" for own in means) for row in (best, HONEST))
    success = _listed(f"{own[best][1]:.1%}" for own in means)
    return (
        f"Take {best}: the backdoor works in {success} of the cases, and {accuracy} of the answers are"
        f" correct ({honest} without attackers)."
    )


def _listed(words: Iterable[str]) -> str:
    return " and ".join(words)
