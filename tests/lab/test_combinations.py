"""Every task, part of an attack and defence runs, and changes something, in two tiny rounds."""

import os
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from holdfast import InputError, aggregators
from holdfast.errors import TooFewClientsError
from holdfast.lab import (
    ATTACKS,
    BACKDOORS,
    CLIENT_SIDE,
    SERVER_SIDE,
    TASKS,
    attack_named,
    defence_named,
    task_named,
)
from holdfast.lab.data import digits, phishing
from holdfast.lab.data.store import get
from holdfast.lab.scenario import Defence, Run
from holdfast.lab.simulation import simulate
from holdfast.lab.tasks import base_name

from ..toy import TOY

pytestmark = pytest.mark.slow

FOLDER = Path(os.environ.get("HOLDFAST_DATA", "nowhere"))
SMALL = {"phishing": partial(phishing, n_train=400, n_test=80), "digits": partial(digits, test_share=0.75)}
QUICK = {
    "flip": {"n_inversion_steps": 5},
    "flip_full": {
        "n_warm_up": 2, "n_pairs": 3, "n_first_steps": 3, "n_pair_steps": 3, "n_again_steps": 2,
    },
}  # fmt: skip


def tiny(task, **changes):
    """Return a task of 12 clients, of whom 9 take a few steps in each of two rounds."""
    return replace(task, epochs=1, n_clients=12, n_per_round=9, n_rounds=2, n_root=20, **changes)


def defence(rule, task, attack):
    """Return the defence of this name; FLIP takes few steps, and Bulyan stands two of nine clients."""
    named = defence_named(rule, task, attack)
    if rule == "bulyan":
        return replace(named, aggregate=named.aggregate(n_malicious=2))
    return replace(named, train=partial(named.train, **QUICK[rule])) if rule in QUICK else named


def attack_on(task, part, **settings):
    """Return the attack of this name; a trigger is learned in few steps."""
    named = attack_named(part, task, **settings)
    learns = named.backdoor is not None and "n_steps" in dict(named.backdoor.settings)
    return replace(named, backdoor=partial(named.backdoor, n_steps=3)) if learns else named


def outcome(task, part, rule):
    """Return the records of a run, and its final parameters."""
    attack = attack_on(task, part)
    rounds = list(simulate(Run(task, attack, defence(rule, task, attack), sampling="fixed")))
    return [record for record, _ in rounds], rounds[-1][1].params


@cache
def params_of(task, part, rule):
    """Return the final parameters of a small run, after checking its records."""
    found, params = outcome(tiny(task_named(task), data=SMALL[task]), part, rule)
    check(found, part)
    return params


def check(found, part):
    resting = part == "none" or {"sleeper", "on-off"} & set(part.split("+"))
    n_attackers = [0 if resting else 3, 0 if part == "none" else 3]  # a fifth, rounded up
    assert [record.n_attackers for record in found] == n_attackers
    assert all(0 <= record.accuracy <= 1 for record in found)
    assert all((record.attack_success is None) == (part == "none") for record in found)
    assert all(record.diagnostics.aggregated and not record.diagnostics.dropped for record in found)


def test_the_tasks_that_need_data_are_tried_below():
    tried = {*SMALL, "phishing-urls", "spambase", "cifar10", "cifar10-semantic", "twitter"}
    tried |= {"fashion-mnist", "flower-fmnist", "fdcr-cifar10", "fdcr-cifar10-full", "fdcr-fmnist"}
    tried |= {"gsc-cifar10", "neuroforensics-mnist"}
    assert set(map(base_name, TASKS)) == tried


@pytest.mark.parametrize(("task", "name"), [(task, name) for task in SMALL for name in BACKDOORS[task]])
def test_each_backdoor_changes_what_plain_averaging_learns(task, name):
    assert (params_of(task, name, "fedavg") != params_of(task, "none", "fedavg")).any()


@pytest.mark.parametrize("part", [part for part in ATTACKS if part != "whitewash"])  # nobody expels here
def test_each_part_of_an_attack_changes_what_plain_averaging_learns(part):
    crafted = params_of("digits", f"edge-case+{part}", "fedavg")
    assert (crafted != params_of("digits", "edge-case", "fedavg")).any()


@pytest.mark.parametrize(
    "part",
    ["sleeper", "on-off", "in-turn", "ramp", "dilute", "decorrelate", "split", "rotate", "mask", "mimic"],
)
def test_each_way_to_hide_changes_what_crafting_colluders_do(part):
    loud = "edge-case+collude+neurotoxin"
    hidden = params_of("digits", f"{loud}+{part}", "fedavg")
    assert (hidden != params_of("digits", loud, "fedavg")).any()


@pytest.mark.parametrize(
    "rule", [name for name in [*aggregators.__all__, *CLIENT_SIDE, *SERVER_SIDE] if name != "fedavg"]
)
def test_each_defence_learns_something_else_than_plain_averaging(rule):
    params = params_of("digits", "edge-case", rule)
    assert (params != params_of("digits", "edge-case", "fedavg")).any()


@pytest.mark.parametrize("part", ["none", "edge-case", "distributed"])
@pytest.mark.parametrize(
    ("task", "file"),
    [
        ("phishing-urls", "phishing_legitimate_48.csv"),
        ("spambase", "spambase_57.csv"),
        ("spambase-minority", "spambase_57.csv"),
    ],
)
def test_a_real_table_runs(task, file, part):
    if not (FOLDER / file).is_file():
        pytest.skip(f"HOLDFAST_DATA has no {file}")
    found, _ = outcome(tiny(task_named(task)), part, "invariant")
    check(found, part)


@pytest.mark.parametrize(
    ("task", "part", "rule"),
    [
        ("cifar10", "none", "fedavg"),
        ("cifar10", "edge-case", "invariant"),
        ("cifar10", "distributed", "trimmed_mean"),
        ("cifar10", "edge-case+collude+adaptive", "fltrust"),
        ("cifar10", "edge-case+pgd", "flip"),
        ("cifar10", "a3fl", "median"),
        ("cifar10", "iba+pgd", "krum"),
        ("cifar10", "tuned+cerberus", "rfa"),
        ("cifar10", "foreign+soda", "fedavg"),
        ("cifar10-semantic", "semantic+replacement", "norm_clipping"),
        ("cifar10", "edge-case+full-information", "flood+krum"),
        ("twitter", "edge-case+3dfed", "csft+lead_fl"),
        ("twitter", "none", "median"),
        ("twitter", "edge-case", "invariant"),
        ("twitter", "edge-case+collude", "sparsefed"),
        ("twitter-minority", "edge-case", "trimmed_mean"),
        ("fdcr-cifar10", "patch", "multi_metrics"),
        ("fdcr-cifar10-full", "patch", "dnc"),
        ("gsc-cifar10", "patch", "flame"),
        ("gsc-cifar10", "distributed", "fltrust"),
    ],
)
def test_real_images_and_tweets_run(task, part, rule):
    if not (FOLDER / "southwest_edge_case.npz").is_file():
        pytest.skip("HOLDFAST_DATA has no images and tweets")
    small = tiny(task_named(task, scale="smoke"))
    attack = attack_on(small, part, n_malicious=None if part == "none" else 3)
    run = Run(small, attack, defence(rule, small, attack), sampling="fixed")
    check([record for record, _ in simulate(run)], part)


@pytest.fixture(scope="module")
def fashion(tmp_path_factory):
    """Get Fashion-MNIST from Debian's package, if it is installed."""
    if not Path("/usr/share/datasets/fashion-mnist").is_dir():
        pytest.skip("Debian's dataset-fashion-mnist is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_DATA", str(tmp_path_factory.mktemp("fashion")))
        get("fashion-mnist", source="debian")
        yield


@pytest.mark.parametrize(
    ("task", "part", "rule"),
    [
        ("fashion-mnist", "none", "fedavg"),
        ("fashion-mnist", "edge-case+full-information", "align_ins"),
        ("fashion-mnist", "foreign+soda", "nnm"),
        ("fashion-mnist", "tuned+cerberus", "cached"),
        ("fashion-mnist", "distributed+f3ba", "flame"),
        ("flower-fmnist", "patch", "median"),
        ("fdcr-fmnist", "patch", "krum_trimmed_mean"),
    ],
)
@pytest.mark.usefixtures("fashion")
def test_pictures_of_clothes_run(task, part, rule):
    small = tiny(task_named(task, scale="smoke"))
    attack = attack_on(small, part, n_malicious=None if part == "none" else 3)
    run = Run(small, attack, defence(rule, small, attack), sampling="fixed")
    check([record for record, _ in simulate(run)], part)


def test_digits_of_mnist_run(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    for part, n_images in (("train", 1_100), ("test", 200)):
        np.save(tmp_path / f"mnist_{part}_images.npy", rng.integers(0, 256, (n_images, 28, 28), np.uint8))
        np.save(tmp_path / f"mnist_{part}_labels.npy", (np.arange(n_images) % 10).astype(np.uint8))
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    small = tiny(task_named("neuroforensics-mnist", scale="smoke"))
    attack = attack_on(small, "a3fl", n_malicious=3)
    run = Run(small, attack, defence("align_ins", small, attack), sampling="fixed")
    check([record for record, _ in simulate(run)], "a3fl")


def test_a_trigger_of_pixels_or_flip_on_tweets_is_impossible_and_says_so():
    with pytest.raises(InputError, match="no attack 'distributed' on twitter"):
        attack_named("distributed", task_named("twitter"))
    with pytest.raises(InputError, match="text"):
        defence_named("flip", task_named("twitter"), attack_named("none", task_named("twitter")))


@pytest.mark.parametrize("rule", ["krum", "multi_krum", "multi_krum_cosine", "krum_trimmed_mean"])
def test_a_rule_with_too_few_clients_says_so(rule):
    few = Defence(rule, getattr(aggregators, rule)(n_malicious=7))
    with pytest.raises(TooFewClientsError, match=r"needs n >= f \+ 3 clients; .*: got n=9, f=7$"):
        next(simulate(Run(tiny(task_named("phishing"), data=SMALL["phishing"]), defence=few)))


@pytest.mark.parametrize("name", ["alie", "inner-product"])
def test_an_untargeted_attack_runs_where_attackers_are_the_majority(name):
    run = Run(TOY, attack_named(name, TOY, n_malicious=8), sampling="fixed")
    records = [record for record, _ in simulate(run)]
    assert [record.n_attackers for record in records] == [5] * run.task.n_rounds
    assert all(record.diagnostics.aggregated and not record.diagnostics.dropped for record in records)
