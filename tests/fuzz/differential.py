"""Any round through any rule, held against a slow twin, and against itself done otherwise."""

import json
import os
from contextlib import contextmanager

import numpy as np
import pytest

from holdfast import aggregators as a
from holdfast import defend
from holdfast.aggregators.settings import share_withstood
from holdfast.aggregators.sparsefed import SparseFedState
from holdfast.core import Attendance, Memory
from holdfast.errors import InputError
from holdfast.updates.counts import balanced_counts, capped_counts

from .rounds import COUNTED, pick, some_round
from .twins import WITH_LENGTHS, Ruled, check_update, too_few

SHARES = [0.0, 0.05, 0.2, 0.25, 1 / 3, 0.45, 0.49]
TAUS = [0.0, 0.2, 1 / 3, 0.5, 0.6, 1.0]
#: name: a rule with settings that fit most rounds of n clients
RULES = {
    "align_ins": lambda rng, n: a.align_ins(top=pick(rng, [0.3, 1.0]), lambda_s=pick(rng, [1.0, 3.0])),
    "and_mask": lambda rng, n: a.and_mask(tau=pick(rng, TAUS), strict=pick(rng, [True, False])),
    "arc": lambda rng, n: a.arc(n_malicious=some_attackers(rng, n), rule=some_trimming(rng)),
    "bucketing": lambda rng, n: a.bucketing(size=pick(rng, [1, 2, 3]), rule=some_trimming(rng)),
    "bulyan": lambda rng, n: a.bulyan(n_malicious=some_attackers(rng, n) // 2),
    "cached": lambda rng, n: a.cached(
        rule=a.trimmed_mean(alpha=pick(rng, SHARES)), momentum=pick(rng, [0.1, 1.0])
    ),
    "centered_clipping": lambda rng, n: a.centered_clipping(radius=pick(rng, [None, 0.1, 100.0])),
    "crfl": lambda rng, n: a.crfl(max_norm=pick(rng, [0.1, 1e6]), sigma=0.0),
    "dnc": lambda rng, n: a.dnc(n_malicious=some_attackers(rng, n), n_coordinates=pick(rng, [3, 10_000])),
    "fedavg": lambda rng, n: a.fedavg,
    "fl_detector": lambda rng, n: a.fl_detector,
    "flame": lambda rng, n: a.flame(noise=0.0),
    "fltrust": lambda rng, n: a.fltrust,
    "foolsgold": lambda rng, n: a.foolsgold(confidence=pick(rng, [0.3, 1.0])),
    "invariant": lambda rng, n: a.invariant(tau=pick(rng, TAUS), alpha=pick(rng, SHARES)),
    "krum": lambda rng, n: a.krum(n_malicious=some_attackers(rng, n)),
    "krum_trimmed_mean": lambda rng, n: a.krum_trimmed_mean(
        n_malicious=some_attackers(rng, n), alpha=pick(rng, SHARES)
    ),
    "mean_variance_mask": lambda rng, n: a.mean_variance_mask(
        kappa=pick(rng, [0.0, 0.3, 0.731]), alpha=pick(rng, SHARES)
    ),
    "median": lambda rng, n: a.median,
    "multi_krum": lambda rng, n: a.multi_krum(
        n_malicious=some_attackers(rng, n), n_selected=pick(rng, [None, 1, 1 + n // 2])
    ),
    "multi_krum_cosine": lambda rng, n: a.multi_krum_cosine(n_malicious=some_attackers(rng, n)),
    "multi_metrics": lambda rng, n: a.multi_metrics(kept=pick(rng, [0.3, 0.7])),
    "nnm": lambda rng, n: behind_krum(some_attackers(rng, n)),
    "norm_clipping": lambda rng, n: a.norm_clipping(max_norm=pick(rng, [None, 1e-3, 10.0])),
    "rfa": lambda rng, n: a.rfa,
    "rflbat": lambda rng, n: a.rflbat(outer=pick(rng, [1.0, 10.0])),
    "rlr": lambda rng, n: a.rlr(threshold=int(rng.integers(0, 1 + n // 2))),
    "sign_sgd": lambda rng, n: a.sign_sgd(step=pick(rng, [1e-3, 1.0])),
    "sparsefed": lambda rng, n: a.sparsefed(
        kept=pick(rng, [0.01, 0.4, 1.0]), max_norm=pick(rng, [None, 1.0])
    ),
    "trimmed_mean": lambda rng, n: a.trimmed_mean(alpha=pick(rng, SHARES)),
    "weak_dp": lambda rng, n: a.weak_dp(max_norm=pick(rng, [0.1, 2.0]), sigma=0.0),
    "weighted_invariant": lambda rng, n: a.weighted_invariant(tau=pick(rng, TAUS), alpha=pick(rng, SHARES)),
    "weighted_median": lambda rng, n: a.weighted_median,
    "weighted_trimmed_mean": lambda rng, n: a.weighted_trimmed_mean(alpha=pick(rng, SHARES)),
}


def some_attackers(rng, n):
    return int(rng.integers(0, max(1, n // 2)))


def some_trimming(rng):
    return a.trimmed_mean(alpha=pick(rng, SHARES))


def behind_krum(n_malicious):
    return a.nnm(n_malicious=n_malicious, rule=a.krum(n_malicious=n_malicious))


def attack(rng, folder):
    """Run one rule on one round, in several ways that must all come to the same."""
    made = some_round(rng)
    n, dim = made.rows.shape
    rule = RULES[pick(rng, [*RULES])](rng, n)
    given = inputs(rng, made, rule)
    if dim == 0:
        with pytest.raises(InputError, match="no numbers"):
            run(made, rule, given, range(n))
        return "no numbers"
    before = [bits(layer) for layer in arrays_of(made)]
    explain = bool(rng.random() < 0.5)
    result = run(made, rule, given, range(n), explain=explain)
    assert [bits(layer) for layer in arrays_of(made)] == before, "an input was changed"

    said = result.diagnostics
    good = np.flatnonzero(used(made, rule, said))
    assert all(drop.reason.isprintable() for drop in said.dropped)
    json.dumps(said.as_dict(), allow_nan=False)
    str(said)
    check_result(made, rule, given, result, good)
    with threads(2):
        assert outcome(made, run(made, rule, given, range(n), explain=explain)) == outcome(made, result)
    if len(good):
        left = run(made, rule, given, good, explain=explain)
        assert outcome(made, left) == outcome(made, result), "dropped clients are not without effect"
    order = rng.permutation(n)
    shuffled = run(made, rule, given, order)
    check_result(made, rule, given, shuffled, order[np.isin(order, good)])
    if rule.name in ("median", "sign_sgd"):
        assert model_bits(made, shuffled) == model_bits(made, result), "the order of clients counts"
    return "aggregated" if said.aggregated else "not aggregated"


def used(made, rule, said):
    """Return whose rows can be used and were: all, but for lengths and distances that no float can hold."""
    dropped = {drop.client for drop in said.dropped}
    is_dropped = np.array([f"c{i}" in dropped for i in range(len(made.rows))])
    with np.errstate(all="ignore"):
        is_long = (made.rows.astype(np.float64) ** 2).sum(axis=1) > np.finfo(np.float64).max / 1e6
        is_long |= (np.abs(made.rows) > made.limits / 2).any(axis=1)
    may_go = ~made.usable | (is_long if rule.name in WITH_LENGTHS else False)
    assert (may_go | ~is_dropped).all(), "a row that can be used was not"
    # Values are not looked at where there are too few clients to begin with.
    assert (made.usable | is_dropped).all() or not said.aggregated, "a row that cannot be used was"
    return made.usable & ~is_dropped


def inputs(rng, made, rule):
    """Return what a server hands to whichever rule asks for it."""
    dim, wide = made.rows.shape[1], made.rows.dtype.type
    given = {"like" if not made.is_model else "base": made.formed(made.base)}
    if rule.name == "fltrust":
        reference = [np.asarray(rng.normal(0.3, 1, layer.shape), layer.dtype) for layer in made.base]
        given["reference"] = made.formed(reference)
    if rule.name == "centered_clipping" and rng.random() < 0.5:
        given["state"] = Memory(previous=rng.normal(size=dim).astype(wide))
    if rule.name == "sparsefed" and rng.random() < 0.5:
        momentum, error = rng.normal(size=(2, dim)).astype(wide)
        given["state"] = Memory(rule=SparseFedState(momentum, error, rng.random(3)))
    return given


def run(made, rule, given, clients, **options):
    """Run the round with these clients, in this order, by name or in a row."""
    names = [f"c{i}" for i in clients]
    sent = [made.sent[i] for i in clients]
    weights = None if made.weights is None else [made.weights[i] for i in clients]
    given = {**given, "rng": np.random.default_rng(0)}
    if not made.is_named:
        return defend(sent, rule, clients=names, weights=weights, **given, **options)
    weights = weights and dict(zip(names, weights, strict=True))
    return defend(dict(zip(names, sent, strict=True)), rule, weights=weights, **given, **options)


def check_result(made, rule, given, result, good):
    """Hold the model against the base and the update, and the update against the twin."""
    layers, counter = made.leaves(result.model)
    steps, _ = made.leaves(result.update)
    for layer, step, own in zip(layers, steps, made.base, strict=True):
        assert (layer.shape, layer.dtype, step.dtype) == (own.shape, own.dtype, own.dtype)
        assert np.isfinite(layer.astype(float)).all()
        with np.errstate(all="ignore"):
            wide = np.float64 if own.dtype == np.float64 else np.float32
            moved = (own.astype(wide) + step.astype(wide)).astype(own.dtype)
        np.testing.assert_array_equal(layer, moved)
    update = np.concatenate([step.astype(np.longdouble).reshape(-1) for step in steps])
    rows, said = made.rows[good], result.diagnostics
    if not said.aggregated:
        assert not update.any()
        assert counter in (COUNTED, None)
        over = any("would not be finite" in note for note in said.notes)
        assert over or len(good) == 0 or too_few(rule, len(good)), said.notes
        return
    assert len(good)
    assert not too_few(rule, len(good))
    assert said.clients == tuple(f"c{i}" for i in good)
    weights = None
    if made.weights is not None:
        claimed = np.array([made.weights[i] for i in good], dtype=np.float64)
        weights = capped_counts(claimed, said.clients)[0]
        if rule.name != "fedavg":
            weights = balanced_counts(weights, said.clients, withstood=share_withstood(rule))[0]
    adapted = rule.adapted(Attendance(len(good)))
    check_update(Ruled(made, adapted, rows, update, said, weights, given))
    if counter is not None and rule.name != "fedavg":
        counters = sorted(made.counters[i] for i in good)
        assert counter == counters[(len(counters) - 1) // 2]


def outcome(made, result):
    """Return all that a round comes to, but for who was dropped, and what is said of them."""
    said = {**result.diagnostics.as_dict(), "dropped": None}
    if not said["aggregated"]:
        said |= {"clients": None, "notes": []}
    used = set(said["clients"] or ())
    same = [[client for client in group if client in used] for group in said["identical"]]
    said["identical"] = [group for group in same if len(group) > 1]
    said["unchanged"] = [client for client in said["unchanged"] if client in used]
    said["notes"] = [note for note in said["notes"] if "look like whole models" not in note]  # a guess
    return model_bits(made, result), json.dumps(said)


def model_bits(made, result):
    return [bits(layer) for model in (result.model, result.update) for layer in made.leaves(model)[0]]


def bits(array):
    return np.ascontiguousarray(array).tobytes() if isinstance(array, np.ndarray) else repr(array)


def arrays_of(made):
    """Return every array that is handed over."""
    return [*made.base, *(layer for sent in made.sent for layer in arrays_in(sent))]


def arrays_in(sent):
    if isinstance(sent, dict):
        return [array for part in sent.values() for array in arrays_in(part)]
    return [array for part in sent for array in arrays_in(part)] if isinstance(sent, list) else [sent]


@contextmanager
def threads(count):
    before = os.environ.get("HOLDFAST_THREADS")
    os.environ["HOLDFAST_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["HOLDFAST_THREADS"]
        else:
            os.environ["HOLDFAST_THREADS"] = before
