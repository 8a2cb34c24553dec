"""A minority of honest clients holds its examples in another form, and is measured on it."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.attacks import value_trigger
from holdfast.lab.choices import Numbers, build_run
from holdfast.lab.data.split import everything
from holdfast.lab.scenario import Run
from holdfast.lab.simulation import simulate
from holdfast.lab.simulation.world import build_world
from holdfast.runs.records import stored_record

from ..toy import TOY, TRIGGER, attack

ATTACK = attack(value_trigger, features=(2,), value=TRIGGER)


def raised(examples):
    return examples + 10


def unchanged(examples):
    return examples


def mirrored(examples):
    return -examples


def cut(examples):
    return examples[:, 1:]


MINOR = replace(TOY, minority=raised, minority_share=0.3)


def records(run):
    return [record for record, _ in simulate(run)]


def test_only_the_examples_of_the_minority_change_and_no_label():
    world, usual = build_world(Run(MINOR, ATTACK), "cpu"), build_world(Run(TOY, ATTACK), "cpu")
    assert len(world.minority) == 3
    assert len(usual.minority) == 0
    for client in range(TOY.n_clients + 1):  # the server, too
        (x, y), (plain, labels) = world.honest_examples(client, 1), usual.honest_examples(client, 1)
        assert (y == labels).all()
        assert (x == plain + (10 if client in world.minority else 0)).all()
    for client in world.malicious.tolist():
        for one, other in zip(world.poisoned[client], usual.poisoned[client], strict=True):
            assert (one == other).all()


def test_examples_that_others_hold_too_stay_as_they_are_for_the_others():
    world = build_world(Run(replace(MINOR, split=everything)), "cpu")
    different, same = world.minority[0], np.setdiff1d(np.arange(10), world.minority)[0]
    gap = world.honest_examples(different, 1)[0] - world.honest_examples(same, 1)[0]
    assert gap.min() > 9.99
    assert (world.x.numpy() == world.data.x_train).all()


def test_the_minority_is_repeatable_never_an_attacker_and_differs_by_seed():
    found = []
    for seed in range(20):
        world = build_world(Run(MINOR, ATTACK, seed=seed), "cpu")
        assert not set(world.minority) & set(world.malicious)
        again = build_world(Run(MINOR, ATTACK, seed=seed), "cpu")
        assert again.minority.tolist() == world.minority.tolist()
        found.append(tuple(world.minority))
    assert len(set(found)) > 10


def test_attackers_take_the_place_of_none_but_those_they_are():
    for seed in range(5):
        alone = build_world(Run(MINOR, seed=seed), "cpu")
        attacked = build_world(Run(MINOR, ATTACK, seed=seed), "cpu")
        assert set(alone.minority) - set(attacked.malicious) <= set(attacked.minority)


def test_accuracy_is_measured_on_the_tests_as_the_minority_has_them():
    task = replace(TOY, minority=mirrored, minority_share=0.0, n_rounds=8)
    last = records(Run(task))[-1]
    assert last.accuracy > 0.8
    assert last.minority_accuracy < 0.15  # what decides the label has the other sign
    same = records(Run(replace(task, minority=unchanged)))[-1]
    assert same.minority_accuracy == same.accuracy == last.accuracy


def test_a_run_without_a_minority_keeps_its_key_and_its_records():
    run = Run(TOY, ATTACK)
    assert {"minority", "minority_share"}.isdisjoint(run.description["task"])
    usual = [stored_record(record) | {"seconds": 0} for record in records(run)]
    measured = [
        stored_record(record) | {"seconds": 0}
        for record in records(run.replace(minority=raised, minority_share=0.0))
    ]
    assert all("minority_accuracy" not in record for record in usual)
    assert [record.pop("minority_accuracy") >= 0 for record in measured] == [True] * 3
    assert measured == usual


def test_the_key_changes_with_the_minority():
    runs = [Run(TOY), Run(MINOR), Run(replace(MINOR, minority_share=0.2)), Run(replace(MINOR, minority=cut))]
    assert len({run.key for run in runs}) == 4


def test_a_minority_that_leaves_no_room_or_has_no_shape_is_refused():
    with pytest.raises(InputError, match=r"minority_share must be in \[0, 1\]; got 1.5"):
        replace(TOY, minority_share=1.5)
    with pytest.raises(InputError, match="4 attackers leave too few of 10 clients for a minority of 7"):
        Run(replace(MINOR, minority_share=0.7), ATTACK)
    with pytest.raises(InputError, match=r"cut must return numbers of the shape .*; got .* shape \(\d+, 3\)"):
        records(Run(replace(MINOR, minority=cut)))


def test_the_share_and_the_form_can_be_set_by_name():
    run = build_run(
        "digits-turned-minority",
        settings={"minority_share": 0.2, "quarters": 3},
        numbers=Numbers(n_clients=30),
    )
    assert (run.task.n_minority, repr(run.task.minority)) == (6, "turned(quarters=3)")
    with pytest.raises(InputError, match="no setting 'minority_share'"):
        build_run("digits", settings={"minority_share": 0.2})
