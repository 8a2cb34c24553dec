"""Attacks without a backdoor, the controls: they show in the accuracy, and the list says what they are."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast.lab import attack_named
from holdfast.lab.catalogue import list_choices
from holdfast.lab.scenario import Run
from holdfast.lab.simulation import simulate

from ...toy import TOY

UNTARGETED = ("alie", "gaussian", "inner-product", "poisoned-fl", "sign-flip")


def test_the_list_says_which_attacks_have_no_target():
    said = {choice.name for choice in list_choices("attacks") if choice.what.endswith("Untargeted.")}
    assert said == set(UNTARGETED)


@pytest.mark.parametrize("name", UNTARGETED)
def test_alone_it_is_measured_by_accuracy(name):
    task = replace(TOY, n_per_round=8)
    honest, attacked = (
        list(simulate(Run(task, attack, sampling="fixed")))
        for attack in (attack_named("none", task), attack_named(name, task, n_malicious=3))
    )
    assert {record.n_attackers for record, _ in attacked} == {3}
    assert all(record.attack_success is None and 0 <= record.accuracy <= 1 for record, _ in attacked)
    assert (honest[-1][1].params != attacked[-1][1].params).any()
    assert np.isfinite(attacked[-1][1].params).all()


@pytest.mark.parametrize("name", ["3dfed", "poisoned-fl"])
def test_attackers_who_keep_something_resume_where_they_were(name):
    task = replace(TOY, n_rounds=4)
    run = Run(task, attack_named(name, task, n_malicious=3), sampling="fixed")
    states = [state for _, state in simulate(run)]
    resumed, fresh = (
        [state.attack["craft0"] for _, state in simulate(run, after=after)][-1]
        for after in (states[1], replace(states[1], attack={}))
    )
    kept = states[-1].attack["craft0"]
    assert all(np.array_equal(kept[name], resumed[name]) for name in kept)
    assert not all(np.array_equal(kept[name], fresh[name]) for name in kept)
