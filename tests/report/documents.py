"""A small document of results, as `holdfast.paper.experiment.document` returns it."""

from statistics import mean

import numpy as np

from holdfast.paper import statistics
from holdfast.runs.verdicts import stored_verdicts
from holdfast.watching import Verdict, Verdicts

ROWS = {"FedAvg": "fedavg", "Trimmed mean": "trimmed_mean", "Invariant": "invariant"}
N_ROUNDS = 5


def spread(*values):
    return statistics.spread(values)


def run(row, seed):
    """Return a finished run whose numbers differ by row, seed and round."""
    place = list(ROWS).index(row)
    by_round = [(number + 1) / N_ROUNDS for number in range(N_ROUNDS)]
    kept = [0.5 - 0.05 * part for part in by_round] if row == "Invariant" else [None] * N_ROUNDS
    trims = {str(client): (client + place + seed) / 40 for client in range(12)} if place else {}
    return {
        "task": "phishing", "attack": "edge-case", "defence": ROWS[row], "seed": seed, "n_rounds": N_ROUNDS,
        "finished": True, "run": f"Run({row}, seed={seed})", "n_clients": 12, "n_per_round": 6,
        "series": {
            "accuracy": [0.6 + 0.3 * part + 0.01 * seed for part in by_round],
            "attack_success": [(0.9 - 0.4 * place) * part + 0.03 * seed for part in by_round],
            "kept_fraction": kept,
            "n_attackers": [2] * N_ROUNDS,
        },
        "trim_share": trims, "malicious": [1, 4, 9], "dropped": {}, "seconds_a_round": 0.0123,
    }  # fmt: skip


def cell(row, runs, **changes):
    """Return what two seeds of a row came to; without runs, it was never measured."""
    measured = None
    if runs:
        measured = {"kept_fraction": None, "n_attackers": 2.0, "seconds_a_round": 0.0123}
        for name in ("accuracy", "attack_success"):
            series = [one["series"][name] for one in runs.values()]
            measured[name] = spread(*(numbers[-1] for numbers in series))
            measured[f"last10_{name}"] = spread(*map(mean, series))
    printed = {"accuracy": 0.999, "attack_success": 0.875} if row in ("FedAvg", "Trimmed mean") else None
    return {
        "row": row, "column": "phishing", "task": "phishing", "attack": "edge-case",
        "defence": ROWS.get(row, "median"), "printed": printed, "stands_in_for": None, "x": None,
        "measured": measured, "n_seeds": len(runs), "n_wanted": 3 if runs else 0, "scale": "smoke",
        "keys": list(runs), **changes,
    }  # fmt: skip


def experiment(cells, **changes):
    return {
        "name": "small", "title": "A small table: three defences", "kind": "table",
        "note": "Made to be tested.", "axis": None, "rows": list(dict.fromkeys(one["row"] for one in cells)),
        "columns": list(dict.fromkeys(one["column"] for one in cells)), "cells": cells,
        "studies": {}, "analyses": {}, **changes,
    }  # fmt: skip


def claim(verdict, text, **changes):
    numbers = "" if verdict == "not measured" else "ASR .95 and .01"
    return {
        "id": "claim", "text": text, "verdict": verdict, "numbers": numbers, "scale": "smoke",
        "task": "phishing", "source": "Table 1", "stands_in_for": None, **changes,
    }  # fmt: skip


def small_document():
    """Return three defences under attack, five rounds, two seeds; a fourth was never run."""
    runs = {row: {f"{row[:3].lower()}{seed}": run(row, seed) for seed in range(2)} for row in ROWS}
    cells = [*(cell(row, own) for row, own in runs.items()), cell("Median", {})]
    return {
        "version": "0.1.0", "scale": "smoke",
        "claims": [
            claim("holds", "One claim."), claim("does not hold", "Another claim."),
            claim("not measured", "Another claim."), claim("holds", "One claim."),
        ],
        "experiments": [experiment(cells)],
        "runs": {key: one for own in runs.values() for key, one in own.items()}, "unusable": {},
    }  # fmt: skip


def compared_document(**names):
    """Return the small document as a comparison with FedAvg as the baseline; rows may have other names."""
    document = {**small_document(), "claims": []}
    (found,) = document["experiments"]
    baseline, *others = cells = [one | {"seeds": [0, 1], "printed": None} for one in found["cells"]]
    for one in others:
        if one["measured"]:
            differences = statistics.against(one, baseline)
            one["measured"]["against"] = {"baseline": "FedAvg", **differences}
    for one in cells:
        one["row"] = names.get(one["row"], one["row"])
    return document | {"experiments": [experiment(cells, baseline=names.get("FedAvg", "FedAvg"))]}


#: In which round each attacker of `rounds_of_verdicts` is expelled; it is suspected in the round before.
EXPELLED = {"eve": 4, "mallory": 4, "trudy": 5}
HONEST = [f"client-{number}" for number in range(9)]


def rounds_of_verdicts(attackers=tuple(EXPELLED), n_rounds=N_ROUNDS + 1):
    """Return what a watch says of nine honest clients and three attackers: the first two rounds are heard."""
    rng = np.random.default_rng(0)
    inside = {client: rng.normal(size=2) for client in [*attackers, *HONEST]}

    def verdict(client, number):
        since = dict(zip(attackers, EXPELLED.values(), strict=True)).get(client, n_rounds + 2)
        place = inside[client] + [8.0 * (number >= since - 1), 0]
        standing = "too early to tell" if number == 1 else "clear"
        if number >= since - 1:
            standing = "expelled" if number >= since else "suspected"
        accused = {"faction": 1, "false_alarm": 0.005} if number >= since - 1 else {}
        return Verdict(
            client, standing, number, since=since if number >= since else None, place=tuple(place), **accused
        )

    return [
        Verdicts(number, tuple(verdict(client, number) for client in inside), hearing=number <= 2)
        for number in range(1, n_rounds + 1)
    ]


def watched_document(attackers=tuple(EXPELLED)):
    """Return the small document, one run of which has a watch."""
    document = small_document()
    rounds = [stored_verdicts(one) for one in rounds_of_verdicts(attackers)]
    watch = {"hearings": [1, 2], "rewinds": [5], "rounds": rounds, "malicious": list(attackers)}
    document["runs"]["inv0"] |= {"watch": watch}
    return document
