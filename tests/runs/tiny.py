"""Runs that take a moment, and what tests do with them."""

import numpy as np

from holdfast.errors import DataError
from holdfast.lab.choices import Numbers, build_run
from holdfast.runs.recording import run_and_record
from holdfast.runs.results import find_result
from holdfast.runs.store import files_of

NUMBERS = Numbers(n_rounds=3, n_clients=12, n_per_round=6)
LITTLE_DATA = {"n_train": 600, "n_test": 100, "sizes": (45, 8, 2), "n_root": 20}


def tiny_run(defence="fedavg", attack="edge-case", *, n_rounds=3, seed=0, **settings):
    """Return a run of a few milliseconds per round."""
    numbers = Numbers(n_rounds, NUMBERS.n_clients, NUMBERS.n_per_round)
    settings = LITTLE_DATA | settings
    return build_run(
        "phishing", attack=attack, defence=defence, settings=settings, numbers=numbers, seed=seed
    )


#: A federation whose five attackers are found at the first look, in the third round.
SEEN_SETTINGS = {"n_train": 1000, "n_test": 100, "n_root": 20, "false_alarms": 0.5}
SEEN_NUMBERS = Numbers(n_rounds=6, n_clients=24, n_per_round=24)


def watched_run(defence="fedavg", **settings):
    """Return a run under a watch that finds its attackers."""
    return build_run(
        "phishing",
        attack="edge-case+collude",
        defence=defence,
        watch="factions",
        settings=SEEN_SETTINGS | settings,
        numbers=SEEN_NUMBERS,
    )


def made(run, folder, **options):
    """Make a run and return its result."""
    *_, result = run_and_record(run, folder, **options)
    return result


def stop_after(n_rounds, run, folder, *, every=1, **options):
    """Make some rounds of a run and leave it."""
    for result in run_and_record(run, folder, every=every, **options):
        if result.n_done == n_rounds:
            return


def load_result(run, folder):
    """Return what is stored of a run; raise why it cannot be used."""
    result, unusable = find_result(run, folder)
    if result is None:
        raise DataError("; ".join(unusable) or "nothing is stored")
    return result


def timeless(result):
    return [{**record, "seconds": None} for record in result.records]


def assert_same(run, one, other):
    """Hold the records and the final state of two folders against each other, bit for bit."""
    assert timeless(load_result(run, one)) == timeless(load_result(run, other))
    with np.load(files_of(run.key, one).model) as a, np.load(files_of(run.key, other).model) as b:
        assert a.files == b.files
        for name in a.files:
            assert a[name].tobytes() == b[name].tobytes(), name
