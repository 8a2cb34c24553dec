"""Every task, part of an attack and defence runs, each with each other one, for two tiny rounds."""

import math
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from holdfast import InputError, aggregators
from holdfast.errors import TooFewClientsError
from holdfast.lab import ATTACKS, CLIENT_SIDE, TASKS, attack_named, defence_named, task_named
from holdfast.lab.data import digits, phishing
from holdfast.lab.scenario import Run
from holdfast.lab.simulation import simulate

from ..toy import TOY

FOLDER = Path(os.environ.get("HOLDFAST_DATA", "nowhere"))
PARTS = ["none", "edge-case", "distributed", *(f"edge-case+{part}" for part in ATTACKS)]
SMALL = {"phishing": partial(phishing, n_train=400, n_test=80), "digits": partial(digits, test_share=0.75)}
DEFENCES = [*aggregators.__all__, *CLIENT_SIDE]
QUICK = {
    "flip": {"n_inversion_steps": 5},
    "flip_full": {
        "n_warm_up": 2, "n_pairs": 3, "n_first_steps": 3, "n_pair_steps": 3, "n_again_steps": 2,
    },
}  # fmt: skip
PAIRS = [
    (list(SMALL)[(row + column) % len(SMALL)], part, rule)
    for row, part in enumerate(PARTS)
    for column, rule in enumerate(DEFENCES)
]


def tiny(task, **changes):
    """Return a task of 12 clients, of whom 9 take a few steps in each of two rounds."""
    return replace(task, epochs=1, n_clients=12, n_per_round=9, n_rounds=2, n_root=20, **changes)


def records(task, part, rule, **settings):
    attack = attack_named(part, task)
    run = Run(task, attack, defence_named(rule, task, attack, **settings), sampling="fixed")
    return [record for record, _ in simulate(run)]


def check(found, part):
    assert [record.n_attackers for record in found] == [0 if part == "none" else 2] * 2
    assert all(0 <= record.accuracy <= 1 for record in found)
    assert all(record.attack_success is None or 0 <= record.attack_success <= 1 for record in found)
    assert all(record.diagnostics.aggregated and not record.diagnostics.dropped for record in found)
    assert all(math.isfinite(record.seconds) for record in found)


def test_the_list_covers_all_pairs():
    assert {(part, rule) for _, part, rule in PAIRS} == {(p, r) for p in PARTS for r in DEFENCES}
    assert {(task, part) for task, part, _ in PAIRS} == {(task, part) for task in SMALL for part in PARTS}
    assert len({(task, rule) for task, _, rule in PAIRS}) == len(SMALL) * len(DEFENCES)
    assert set(TASKS) == {*SMALL, "phishing-urls", "spambase", "cifar10", "twitter"}  # those are below


@pytest.mark.parametrize(("task", "part", "rule"), PAIRS)
def test_it_runs(task, part, rule):
    settings = QUICK.get(rule, {})
    check(records(tiny(task_named(task), data=SMALL[task]), part, rule, **settings), part)


@pytest.mark.parametrize("part", ["none", "edge-case", "distributed"])
@pytest.mark.parametrize(
    ("task", "file"), [("phishing-urls", "phishing_legitimate_48.csv"), ("spambase", "spambase_57.csv")]
)
def test_a_real_table_runs(task, file, part):
    if not (FOLDER / file).is_file():
        pytest.skip(f"HOLDFAST_DATA has no {file}")
    check(records(tiny(task_named(task)), part, "invariant"), part)


@pytest.mark.parametrize(
    ("task", "part", "rule"),
    [
        ("cifar10", "none", "fedavg"),
        ("cifar10", "edge-case", "invariant"),
        ("cifar10", "distributed", "trimmed_mean"),
        ("cifar10", "edge-case+collude+adaptive", "fltrust"),
        ("cifar10", "edge-case+pgd", "flip"),
        ("twitter", "none", "median"),
        ("twitter", "edge-case", "invariant"),
        ("twitter", "edge-case+collude", "sparsefed"),
    ],
)
def test_real_images_and_tweets_run(task, part, rule):
    if not (FOLDER / "southwest_edge_case.npz").is_file():
        pytest.skip("HOLDFAST_DATA has no images and tweets")
    small = tiny(task_named(task, scale="smoke"))
    attack = attack_named(part, small, n_malicious=None if part == "none" else 2)
    settings = QUICK.get(rule, {})
    run = Run(small, attack, defence_named(rule, small, attack, **settings), sampling="fixed")
    check([record for record, _ in simulate(run)], part)


def test_a_trigger_of_pixels_or_flip_on_tweets_is_impossible_and_says_so():
    with pytest.raises(InputError, match="no attack 'distributed' on twitter"):
        attack_named("distributed", task_named("twitter"))
    with pytest.raises(InputError, match="text"):
        defence_named("flip", task_named("twitter"), attack_named("none", task_named("twitter")))


@pytest.mark.parametrize("rule", ["krum", "multi_krum", "multi_krum_cosine", "krum_trimmed_mean"])
def test_a_rule_with_too_few_clients_says_so(rule):
    with pytest.raises(TooFewClientsError, match=r"clients; got n=9, f=7"):
        records(tiny(task_named("phishing"), data=SMALL["phishing"]), "edge-case", rule, n_malicious=7)


def test_an_attack_that_is_not_defined_for_so_many_attackers_says_so():
    attack = attack_named("alie", TOY, n_malicious=8)
    with pytest.raises(InputError, match="5 attackers among 6 clients: pass z= yourself"):
        next(simulate(Run(TOY, attack, sampling="fixed")))
