"""Every rule on the same round: how much of the attack each lets through, and of the honest step."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ..._support.printable import printable
from ...core import Rule
from ...errors import HoldfastError
from ...lab.scenario import Defence, Run
from .starts import Start

if TYPE_CHECKING:
    from ...lab.simulation.round import Round
    from ...lab.simulation.state import Sent

__all__ = ["Applied", "RuleProbe", "RulesProbe", "n_steps_of_probe", "rules_on_a_round"]

#: Is told how many steps are done, and in a few words what comes next.
Progress = Callable[[int, str], None]


@dataclass(frozen=True)
class Applied:
    """What a rule made of a round, and the model right after it."""

    leak: float | None  # how much of the attack gets through; see lab.leaks
    gain: float | None  # how much of the honest step survives
    kept_fraction: float | None  # of the coordinates, if the rule masks them
    accuracy: float
    attack_success: float | None  # None without a backdoor
    seconds: float  # that the rule took
    dose: float | None = None  # how much attack there is to an honest step


@dataclass(frozen=True)
class RuleProbe:
    """What a rule made of every draw of clients, or why it could not."""

    rule: str  # with its settings
    reason: str  # why it could not run; empty if it could
    draws: tuple[Applied, ...]


@dataclass(frozen=True)
class RulesProbe:
    """What all rules made of the same rounds."""

    accuracy: float  # of the model before the round
    attack_success: float | None
    n_clients: int  # per round
    n_attackers: tuple[int, ...]  # [draw]
    rules: tuple[RuleProbe, ...]


def n_steps_of_probe(n_rules: int, draws: int) -> int:
    """Return how many steps a probe tells of: per draw the training of the clients, then each rule."""
    return draws * (n_rules + 1)


def rules_on_a_round(
    run: Run,
    folder: Path | None = None,
    *,
    rules: tuple[Rule, ...],
    start: Start,
    draws: int = 1,
    progress: Progress | None = None,
) -> RulesProbe:
    """Return what every rule makes of the same updates: one training of a round's clients serves all of them.

    With several draws, as many rounds start from the same model, each with other clients. All malicious
    clients of a round attack. Rules remember nothing: to each it is the first round. One that cannot run on a
    round is told of with its reason. A folder stores the model to start from.
    """
    from ...lab.simulation.checking import check_outputs
    from ...lab.simulation.clients import workers
    from ...lab.simulation.round import Round
    from ...lab.simulation.world import build_world

    check_whole("draws", draws, at_least=1)
    tell: Progress = progress or (lambda done, said: None)
    world = build_world(run.replace(defence=Defence()), "cpu")
    check_outputs(run, world.model, world.data)
    with _folder(folder) as runs:
        before = start.state(world, runs, lambda said: tell(0, said))
    found: list[list[Applied | str]] = [[] for _ in rules]
    n_attackers = []
    with workers(world.model) as crew:
        for draw in range(draws):
            one = Round(world, crew, replace(before, round=before.round + draw))
            n_done, which = n_steps_of_probe(len(rules), draw), f"draw {draw + 1} of {draws}: " * (draws > 1)
            tell(n_done, f"{which}the clients train")
            clients = one.sample()
            is_attacker = np.isin(clients, world.malicious)
            sent = one.sent(clients, is_attacker)
            n_attackers.append(int(is_attacker.sum()))
            for place, rule in enumerate(rules):
                tell(n_done + 1 + place, which + rule.name)
                found[place].append(_applied(one, clients, is_attacker, sent, rule))
        accuracy, success, _ = one.evaluate(before)
    told = tuple(_probe_of(rule, own) for rule, own in zip(rules, found, strict=True))
    return RulesProbe(accuracy, success, len(clients), tuple(n_attackers), told)


def _applied(
    one: "Round",
    clients: NDArray[np.intp],
    is_attacker: NDArray[np.bool_],
    sent: "Sent",
    rule: Rule,
) -> Applied | str:
    """Return what a rule makes of the round, or why it cannot."""
    started = time.perf_counter()
    try:
        result = one.defend(clients, sent, Defence(rule.name, rule))
    except HoldfastError as error:
        return str(error)
    except Exception as error:  # a rule of one's own can raise anything
        return f"{type(error).__name__}: {error}"
    seconds = time.perf_counter() - started
    if not result.diagnostics.aggregated:
        return "; ".join(result.diagnostics.notes)
    leak, gain, dose = one.let_through(is_attacker, sent, result)
    after = replace(one.before, params=result.model, buffers=result.buffers, attack=sent.attack)
    accuracy, success, _ = one.evaluate(after)
    kept = result.diagnostics.kept_fraction
    return Applied(*map(_short, (leak, gain, kept, accuracy, success, seconds, dose)))


def _short(value: float | None) -> Any:
    """Return a number with six digits, to save room."""
    return None if value is None else float(f"{value:.6g}")


def _probe_of(rule: Rule, found: list[Applied | str]) -> RuleProbe:
    """Return what a rule made of all draws; it has to run on every one."""
    reasons = [one for one in found if isinstance(one, str)]
    draws = () if reasons else tuple(one for one in found if isinstance(one, Applied))
    return RuleProbe(rule.identity, printable(reasons[0], limit=300) if reasons else "", draws)


@contextmanager
def _folder(folder: Path | None) -> Iterator[Path]:
    """Yield the folder, or else one for the time being."""
    if folder is not None:
        yield folder
        return
    with TemporaryDirectory(prefix="holdfast-") as made:
        yield Path(made)
