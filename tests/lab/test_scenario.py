import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import pytest

from holdfast import InputError, krum
from holdfast.lab import attack_named, task_named
from holdfast.lab.attacks import sign_flip
from holdfast.lab.scenario import Attack, Defence, Run

from ..toy import TOY


def test_the_default_is_nobody_attacking_and_plain_averaging():
    run = Run(TOY)
    assert run.attack.n_malicious == 0
    assert run.defence.aggregate.name == "fedavg"
    assert run.sampling == "uniform"


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        ({"n_per_round": 11}, "n_per_round must be a whole number from 1 to 10; got 11"),
        ({"n_per_round": 0}, "n_per_round must be a whole number from 1"),
        ({"n_rounds": 0}, "n_rounds must be a whole number of at least 1; got 0"),
        ({"batch_size": 2.5}, "batch_size must be a whole number"),
        ({"n_root": 0}, "n_root must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0; got -1"),
        ({"sampling": "random"}, "sampling must be 'uniform' or 'fixed'; got 'random'"),
        ({"attack": Attack("many", 11)}, "n_malicious must be a whole number from 0 to 10; got 11"),
    ],
)
def test_a_run_that_cannot_be_run_is_refused_when_it_is_written(wrong, needed):
    with pytest.raises(InputError, match=needed):
        Run(TOY).replace(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [{"poison_fraction": -0.1}, {"poison_fraction": float("inf")}, {"exposure": 1.1}, {"exposure": -0.1}],
)
def test_shares_outside_their_range_are_refused(wrong):
    with pytest.raises(InputError, match=r"poison_fraction must be .* at least 0 and exposure in \[0, 1\]"):
        Attack(**wrong)


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        ({"sleeps": -1}, "sleeps must be a whole number of at least 0; got -1"),
        ({"period": 0}, "period must be a whole number of at least 1; got 0"),
    ],
)
def test_rounds_that_cannot_be_counted_are_refused(wrong, needed):
    with pytest.raises(InputError, match=needed):
        Attack(**wrong)


def test_attackers_attack_in_rounds_in_which_nothing_keeps_them():
    attack = Attack("some", 2, rounds=range(1, 8), sleeps=2, period=2)
    assert [number for number in range(1, 13) if attack.is_on(number)] == [4, 6]
    assert all(Attack("some", 2).is_on(number) for number in range(1, 13))


def test_replace_changes_the_run_and_its_task_and_leaves_the_first_alone():
    run = Run(TOY)
    other = run.replace(n_rounds=7, seed=5)
    assert (other.task.n_rounds, other.seed) == (7, 5)
    assert (run.task.n_rounds, run.seed) == (3, 0)
    with pytest.raises(FrozenInstanceError):
        run.seed = 1


def test_the_key_changes_with_everything_that_changes_a_result():
    run = Run(TOY, Attack("some", 2))
    others = [
        run.replace(seed=1),
        run.replace(n_rounds=4),
        run.replace(sampling="fixed"),
        run.replace(defence=Defence("krum", krum(n_malicious=2))),
        run.replace(defence=Defence("krum", krum(n_malicious=1))),
        run.replace(attack=replace(run.attack, poison_fraction=0.25)),
        run.replace(attack=replace(run.attack, train=TOY.train)),
        run.replace(attack=replace(run.attack, rounds=range(1, 2))),
        run.replace(attack=replace(run.attack, sleeps=1)),
        run.replace(attack=replace(run.attack, period=2)),
        run.replace(attack=replace(run.attack, whitewashes=True)),
        run.replace(attack=replace(run.attack, masks=True)),
    ]
    keys = [run.key, *(other.key for other in others)]
    assert len(set(keys)) == len(keys)
    assert run.replace().key == run.key


def test_the_key_is_the_same_in_another_process():
    task = task_named("phishing")
    here = Run(task, attack_named("edge-case+pgd", task), seed=3).key
    code = (
        "from holdfast.lab import task_named, attack_named; from holdfast.lab.scenario import Run;"
        "task = task_named('phishing'); print(Run(task, attack_named('edge-case+pgd', task), seed=3).key)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == here


@pytest.mark.parametrize("wrong", [2, "2", (0.5,), None])
def test_the_rounds_of_an_attack_are_numbers_of_rounds(wrong):
    with pytest.raises(
        InputError, match=r"rounds must hold the numbers of rounds, such as range\(1, 11\); got"
    ):
        Attack("some", 2, rounds=wrong)
    assert Attack("some", 2, rounds=(2, 5)).is_on(5)


@pytest.mark.parametrize("wrong", [sign_flip, [sign_flip], None])
def test_the_crafts_of_an_attack_are_a_tuple(wrong):
    with pytest.raises(InputError, match=r"crafts must be a tuple of functions, such as \(sign_flip,\); got"):
        Attack("some", 2, crafts=wrong)
