"""How a rule conducts itself: its form, what it looks at, and where it goes."""

import math
from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from ...core import Aggregate, Rule
from ...defending import defend
from .certificate import Clause, failed, noted, passed
from .rounds import Crowd, answer, crowd, directions, distance, is_near

__all__ = ["form", "honest_step", "ids", "order", "scale", "settings"]

#: A result that points less than this where honest clients point, without an attacker, has lost its way.
LEAST_COSINE = 0.3
#: How often a rule that draws is asked the same, to see what its chance alone does.
N_DRAWS = 16


def form(rule: Rule) -> Clause:
    """Find out whether an update comes back in the form of the clients', which stay as they are."""
    sent = crowd()
    given = sent.rows.copy()
    result = rule.run(given, **sent.inputs())
    faults = list(_faults(result, given, sent))
    if faults:
        return failed("form", "; ".join(faults))
    layers = [[row[:60].reshape(6, 10), row[60:]] for row in (*sent.rows, sent.reference)]
    like = [np.zeros_like(part) for part in layers[0]]
    rng = np.random.default_rng(0)
    parts = defend(layers[:-1], rule, like=like, reference=layers[-1], rng=rng).update
    if not is_near(np.concatenate([np.ravel(part) for part in parts]), answer(rule, sent)):
        return failed("form", "several layers give another update than one array of the same numbers")
    kind = np.asarray(result.update).dtype
    if kind != np.float32:
        return noted("form", f"float32 in, {kind} out: the server rounds it back; inputs unmodified")
    return passed("form", "float32 in, float32 out, in one array or in layers; inputs unmodified")


def _faults(result: Any, given: Any, sent: Crowd) -> Iterator[str]:
    """Yield what is wrong with what a rule returned of an array, and with what it did to it."""
    if not isinstance(result, Aggregate):
        yield f"returns {type(result).__name__}, not Aggregate(update)"
        return
    update = np.asarray(result.update)
    if update.shape != sent.rows.shape[1:]:
        yield f"returns an update of shape {update.shape}, not {sent.rows.shape[1:]}"
    elif not np.isfinite(update).all():
        yield "returns an update that is not finite"
    if not np.array_equal(given, sent.rows):
        yield "modifies the clients' updates: copy them first"
    if np.shares_memory(update, given):
        yield "returns a view of a client's update: copy it"


def _worlds() -> dict[str, Crowd]:
    """Return a round of honest clients, and one with three attackers, the last."""
    honest = crowd()
    rows = honest.rows.copy()
    rows[-3:] = honest.center + 8 * honest.spread * directions(honest)["against the honest clients"]
    return {"honest clients": honest, "three attackers": replace(honest, rows=rows)}


def order(rule: Rule) -> Clause:
    """Find out whether the order of the clients matters: it tells a rule nothing, or all in a rigged test."""
    worst, beyond = 0.0, "its own chance" if rule.needs("rng") else "rounding"
    for name, sent in _worlds().items():
        as_sent = answer(rule, sent)
        # A rule that draws may shuffle the clients itself: its own chance is then no use of their order.
        drawn = [answer(rule, sent, seed=seed) for seed in range(N_DRAWS if rule.needs("rng") else 0)]
        chance = max((float(np.linalg.norm(one - as_sent)) for one in drawn), default=0.0)
        n = len(sent.rows)
        orders = [np.arange(n)[::-1], np.roll(np.arange(n), n // 2), np.random.default_rng(3).permutation(n)]
        for clients in orders:
            found = answer(rule, sent.ordered(clients))
            apart = distance(found, as_sent, sent)
            if not is_near(found, as_sent, slack=2 * chance):
                return failed(
                    "order",
                    f"with {name}, another order of the clients moves the result by {apart:.2g} spreads",
                    apart=apart,
                )
            worst = max(worst, apart)
    return passed("order", f"the order of the clients changes nothing beyond {beyond}", apart=worst)


def ids(rule: Rule) -> Clause:
    """Find out whether a client's name matters in a round that nothing came before."""
    if not rule.needs("clients"):
        return passed("ids", "does not ask for the clients' ids")
    for name, sent in _worlds().items():
        n = len(sent.rows)
        plain = answer(rule, replace(sent, clients=range(n)))
        for named in (range(n)[::-1], range(1000, 1000 + n), [f"client-{row}" for row in range(n)]):
            found = answer(rule, replace(sent, clients=named))
            if not is_near(found, plain):
                apart = distance(found, plain, sent)
                return failed(
                    "ids",
                    f"with {name}, other ids of the same clients move the result by {apart:.2g} spreads",
                    apart=apart,
                )
    return passed("ids", "other ids change nothing in a first round")


def scale(rule: Rule) -> Clause:
    """Find out whether the result scales and moves with the rows."""
    sent = crowd()
    plain = answer(rule, sent)
    factors = (0.25, 4.0)
    larger = [
        replace(sent, rows=sent.rows * k, reference=sent.reference * k) for k in map(np.float32, factors)
    ]
    scales = all(
        is_near(answer(rule, one), plain * factor) for one, factor in zip(larger, factors, strict=True)
    )
    step = 2 * directions(sent)["aside"].astype(np.float32)
    shifted = replace(sent, rows=sent.rows + step, reference=sent.reference + step)
    moves = is_near(answer(rule, shifted), plain + step)
    numbers = {"scales": scales, "moves": moves}
    if not scales:
        return noted("scale", "does not scale with the rows: some length or step in it is fixed", **numbers)
    if not moves:
        return noted("scale", "scales with the rows, but does not move with them: zero is special", **numbers)
    return passed("scale", "scales with the rows, and moves with them", **numbers)


def honest_step(rule: Rule) -> Clause:
    """Find out whether the result goes where honest clients go, when there are no others."""
    sent = crowd()
    found, length = answer(rule, sent), float(np.linalg.norm(sent.center))
    along = float(found @ sent.center) / length
    cosine = along / max(float(np.linalg.norm(found)), 1e-300)
    numbers = {"cosine": cosine, "kept": along / length}
    if cosine < LEAST_COSINE:
        return failed(
            "honest step", f"honest clients go one way, the result another: cosine {cosine:.2f}", **numbers
        )
    return passed(
        "honest step", f"goes where honest clients go: cosine {cosine:.2f} with their mean", **numbers
    )


def settings(rule: Rule) -> Clause:
    """Find out whether nonsense in a setting is refused."""
    numeric = {
        name: value
        for name, value in rule.settings
        if isinstance(value, Real) and not isinstance(value, bool)
    }
    taken = [
        f"{name}={nonsense!r}"
        for name, value in numeric.items()
        for nonsense in ((math.nan, -1.0) if isinstance(value, float) else (-1,))
        if _is_taken(rule, name, nonsense)
    ]
    if taken:
        return noted("settings", f"takes {', '.join(taken)} without an error", taken=len(taken))
    return passed("settings", "nonsense in a number is refused" if numeric else "has no number to set")


def _is_taken(rule: Rule, name: str, nonsense: float) -> bool:
    try:
        answer(rule(**{name: nonsense}), crowd())
    except Exception:  # however it says so
        return False
    return True
