"""A user's own functions read what they are given. What they write into it changes nothing else."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from holdfast import Aggregate
from holdfast.lab.attacks import Backdoor, edge_case, value_trigger
from holdfast.lab.scenario import Attack, Defence, Run
from holdfast.lab.simulation import load_once, simulate

from ..toy import TOY, TRIGGER, attack, idle

BAD = partial(value_trigger, features=(2,), value=TRIGGER)


def models(task=TOY, **parts):
    return [state.params for _, state in simulate(Run(task, **parts))]


def same(some, others):
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


@pytest.mark.parametrize("name", ["params", "previous", "benign", "rehearsal", "attackers"])
def test_a_craft_cannot_write_into_what_it_is_shown(name):
    def writing(updates, **given):
        if given[name] is not None:
            given[name][...] = 0
        return updates

    written = {
        "params": lambda updates, *, params: writing(updates, params=params),
        "previous": lambda updates, *, previous=None: writing(updates, previous=previous),
        "benign": lambda updates, *, benign: writing(updates, benign=benign),
        "rehearsal": lambda updates, *, rehearsal: writing(updates, rehearsal=rehearsal),
        "attackers": lambda updates, *, attackers: writing(updates, attackers=attackers),
    }
    with pytest.raises(ValueError, match="read-only"):
        models(attack=attack(BAD, crafts=(written[name],)))


def test_training_that_writes_into_the_params_changes_no_model():
    def careless(model, params, shards):
        params[:] = 7
        return idle(model, params, shards)

    assert same(models(replace(TOY, train=careless)), models(replace(TOY, train=idle)))


def test_a_rule_that_writes_into_the_params_or_the_reference_changes_nothing_else():
    def careful(updates, *, params, reference):
        return Aggregate(np.asarray(updates).mean(axis=0))

    def careless(updates, *, params, reference):
        params[:], reference[:] = 7, 7
        return Aggregate(np.asarray(updates).mean(axis=0))

    one, other = (models(defence=Defence("own", rule)) for rule in (careful, careless))
    assert same(one, other)


def test_a_backdoor_cannot_change_the_examples_that_all_runs_share():
    def spoiling(data):
        data.pools["rare"].train[:] = 0
        return Backdoor(0, lambda x, y, count, attacker, rng: x[:count], data.x_test)

    def marking(data):
        data.x_test[:, 2] = TRIGGER
        return Backdoor(0, lambda x, y, count, attacker, rng: x[:count], data.x_test)

    before = load_once(TOY.data).x_test.copy()
    for own in (spoiling, marking):
        with pytest.raises(ValueError, match="read-only"):
            models(attack=Attack("own", 4, own))
    np.testing.assert_array_equal(load_once(TOY.data).x_test, before)


def test_a_minority_that_is_made_in_place_leaves_the_test_examples_alone():
    def made(examples):
        return -examples

    def made_in_place(examples):
        examples *= -1
        return examples

    before = load_once(TOY.data).x_test.copy()
    one, other = (
        [record.accuracy for record, _ in simulate(Run(replace(TOY, minority=minority)))]
        for minority in (made, made_in_place)
    )
    assert one == other
    np.testing.assert_array_equal(load_once(TOY.data).x_test, before)


def test_augmentation_in_place_moves_poisoned_examples_once_a_round():
    def smaller(examples, *, rng):
        return examples * 0.1

    def smaller_in_place(examples, *, rng):
        examples *= 0.1
        return examples

    rare = attack(edge_case, pool="rare", target=0)
    one, other = (
        models(replace(TOY, augment=augment), attack=rare) for augment in (smaller, smaller_in_place)
    )
    assert same(one, other)


class Overflowing(torch.nn.Linear):
    """A network as deep ones are when their weights are huge: it adds and subtracts infinities."""

    def __init__(self):
        super().__init__(4, 2)

    def forward(self, x):
        return super().forward(x) if self.weight.abs().max() < 1e20 else 0 * x[:, :2] / 0


def test_a_model_whose_scores_are_no_numbers_has_no_backdoor():
    def too_far(updates, *, params):
        return Aggregate(np.full(len(params), 1e30))

    task = replace(TOY, model=Overflowing, train=idle)
    record, _ = next(simulate(Run(task, attack(BAD), Defence("own", too_far))))
    assert record.diagnostics.aggregated
    assert record.attack_success == 0
