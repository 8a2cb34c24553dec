"""What attackers can do to a rule: with rows no rule expects, alone, together, and with sample counts."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, product
from typing import Any

import numpy as np

from ..._support.counting import trim_count
from ..._support.printable import printable
from ...core import Rule
from ...errors import TooFewClientsError
from ...updates.counts import MAX_EXAMPLES
from .certificate import Clause, failed, noted, passed
from .rounds import Crowd, N, Undecided, answer, attacked, crowd, decided, directions, distance

__all__ = ["collusion", "hostile_rows", "one_client", "weights"]

#: How far attackers may move the result, in spreads of the honest clients, before it counts as broken.
BOUND = 10.0
#: How far from the honest clients a row is tried, in spreads.
SIZES = (0.5, 1.0, 2.0, 5.0, 10.0, 100.0, 1e4, 1e8)
#: The same for rows that collude, of which there are many to try.
FEW_SIZES = (2.0, 10.0, 1e8)
#: The share of the honest step that counts as nothing.
NOTHING = 0.02


def hostile_rows(rule: Rule) -> Clause:
    """Find out whether a round survives rows that no honest client sends, or hardly any clients at all."""
    needed = next((n for n in range(1, N + 1) if _is_defined(rule, crowd(n))), N + 1)
    few = ((f"{n} client{'s' * (n > 1)}", crowd(n)) for n in range(needed, N))
    faults: dict[str, list[str]] = {}
    for name, sent in chain(_hostile(), few):
        if fault := _fault(rule, sent):
            faults.setdefault(fault, []).append(name)
    if faults:
        told = "; ".join(f"with {', '.join(names)}, {fault}" for fault, names in faults.items())
        return failed("hostile rows", printable(told, limit=300), faults=sum(map(len, faults.values())))
    asks = f"; it refuses fewer than {needed} clients" if needed > 1 else ""
    return passed("hostile rows", f"no row stops a round or makes it not finite{asks}", needs=needed)


def _hostile() -> Iterator[tuple[str, Crowd]]:
    """Yield rounds with a hostile client, and rounds of odd clients, by name."""
    honest = crowd()
    for name, value in (
        ("a row of NaN", np.nan),
        ("a row of infinities", -np.inf),
        ("a row of 1e30", 1e30),
        ("a row of the largest numbers", -np.finfo(np.float32).max),
        ("a row of zeros", 0.0),
        ("a row of subnormals", 1e-42),
    ):
        rows = honest.rows.copy()
        rows[N // 2] = value
        yield name, replace(honest, rows=rows)
    yield "nothing but zeros", replace(honest, rows=np.zeros_like(honest.rows))
    yield "nothing but subnormals", replace(honest, rows=np.full_like(honest.rows, 1e-42))
    yield "nothing but equal rows", replace(honest, rows=np.repeat(honest.rows[:1], N, axis=0))
    yield "updates of one number", crowd(dim=1)


def _fault(rule: Rule, sent: Crowd) -> str:
    """Return what goes wrong in a round; nothing if all is well."""
    try:
        result = decided(rule, sent)
    except Exception as error:  # whatever a rule raises ends the training of all clients
        return f"it raises {type(error).__name__}: {printable(error, limit=200)}"
    if not result.diagnostics.aggregated:
        return f"the round stops: {result.diagnostics.notes[0]}"
    return ""


def _is_defined(rule: Rule, sent: Crowd) -> bool:
    """Return whether the rule does not say that these clients are too few."""
    try:
        rule.run(sent.rows, **sent.inputs())
    except TooFewClientsError:
        return False
    except Exception:  # a fault, which is told elsewhere
        return True
    return True


def one_client(rule: Rule) -> Clause:
    """Find out how far one client can move the result, with a row of any length in some directions."""
    honest = crowd()
    unmoved = answer(rule, honest)
    worst = (-1.0, 0.0, "")
    for (name, push), size in product(directions(honest).items(), SIZES):
        try:
            moved = distance(answer(rule, attacked(honest, push, size)), unmoved, honest)
        except Undecided as reason:
            return failed("one client", f"one row of {size:g} spreads stops the round: {reason}", size=size)
        worst = max(worst, (moved, size, name))
    moved, size, name = worst
    if moved <= BOUND:
        reach = f"one of {N} moves the result by up to {moved:.2g} spreads of the honest clients"
        return passed("one client", reach, moved=moved, size=size)
    far = f"{float(f'{moved:.2g}'):,.0f} spreads of the honest clients, pushing {name}"
    as_it_likes = "as far as it likes: " if size == max(SIZES) else ""
    return failed("one client", f"one of {N} moves the result {as_it_likes}by {far}", moved=moved, size=size)


def collusion(rule: Rule) -> Clause:
    """Find out how many clients that send the same it takes to break or stop a rule, of ten and of twenty."""
    crowds = {n: crowd(n) for n in (N, 2 * N)}
    found = {n: _withstood(rule, honest) for n, honest in crowds.items()}
    promised = {n: _promised(rule, honest) for n, honest in crowds.items()}
    asked = promised if None not in promised.values() else {n: _trimmed(rule, n) for n in crowds}
    stopped = [n_stopping for held, n_stopping in found.values() if n_stopping <= held]
    sentence = f"withstands {' and '.join(f'{held} of {n}' for n, (held, _) in found.items())} who collude"
    if None not in asked.values():
        sentence += f"; it is set for {' and '.join(map(str, asked.values()))}"
    if stopped:
        sentence += f"; {' and '.join(map(str, stopped))} can leave nothing of the honest step"
    numbers: dict[str, float] = {}
    for n, (held, n_stopping) in found.items():
        numbers |= {f"of_{n}": held, f"stopped_of_{n}": n_stopping, f"set_of_{n}": asked[n] or 0}

    def falls_short(of: Mapping[int, int | None]) -> bool:
        return any(held < max(1, of[n] or 1) for n, (held, _) in found.items())

    verdict = failed if falls_short(promised) else noted if stopped or falls_short(asked) else passed
    return verdict("collusion", sentence, **numbers)


def _withstood(rule: Rule, honest: Crowd) -> tuple[int, int]:
    """Return the most colluding clients that do not break the result, and the fewest that leave none of it.

    It is broken where it is far away, or points against what the honest clients want.
    """
    unmoved, n = answer(rule, honest), len(honest.rows)
    n_stopping = n
    for n_attackers in range(1, n):
        for push, size in product(directions(honest).values(), FEW_SIZES):
            try:
                result = answer(rule, attacked(honest, push, size, n_attackers))
            except Undecided:
                return n_attackers - 1, min(n_stopping, n_attackers)
            left = float(result @ unmoved / max(unmoved @ unmoved, 1e-300))
            if distance(result, unmoved, honest) > BOUND or left < -NOTHING:
                return n_attackers - 1, n_stopping
            n_stopping = min(n_stopping, n_attackers) if left <= NOTHING else n_stopping
    return n - 1, n_stopping


def _promised(rule: Rule, honest: Crowd) -> int | None:
    """Return how many attackers the rule is told of, or says that it tolerates; None if it does not say."""
    told = dict(rule.settings).get("n_malicious")
    return decided(rule, honest).diagnostics.tolerates if told is None else int(told)


def _trimmed(rule: Rule, n: int) -> int | None:
    """Return how many values a setting `alpha` would trim at each end; what else it may mean is its own."""
    alpha = dict(rule.settings).get("alpha")
    return trim_count(alpha, n) if isinstance(alpha, float) and 0 <= alpha < 0.5 else None


def weights(rule: Rule) -> Clause:
    """Find out whether a client that makes up its sample count decides the round."""
    if not rule.needs("weights"):
        return passed("sample counts", "does not ask for them")
    honest = replace(crowd(), counts=[100.0] * N)
    push = directions(honest)["against the honest clients"]
    sent = attacked(honest, push, 3.0)
    liar = int(np.flatnonzero((sent.rows != honest.rows).any(axis=1))[0])
    counts: list[Any] = [100.0] * N
    counts[liar] = float(MAX_EXAMPLES)
    unmoved, moved = answer(rule, honest), answer(rule, replace(sent, counts=counts))
    away = sent.rows[liar] - unmoved
    share = max(0.0, float((moved - unmoved) @ away / (away @ away)))
    said = f"one of {N} that claims {MAX_EXAMPLES:,} examples has {share:.0%} of the say"
    return (failed if share > 0.5 else passed)("sample counts", said, share=share)
