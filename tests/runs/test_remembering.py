"""Runs under rules that remember every client: stopped, stored and resumed, they are the same."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import median
from holdfast._support.ids import ids_in
from holdfast.aggregators import cached, fl_detector, foolsgold
from holdfast.lab.scenario import Defence
from holdfast.lab.simulation import simulate
from holdfast.runs.checkpoints import load_checkpoint, save_checkpoint

from .tiny import tiny_run

N_ROUNDS = 6


@pytest.mark.parametrize("rule", [cached, cached(rule=median), fl_detector(window=2), foolsgold], ids=str)
def test_a_run_that_is_resumed_from_a_checkpoint_has_the_same_bits(rule, tmp_path):
    check_resumed(rule, tmp_path)


def test_a_run_with_momenta_on_disk_is_resumed_and_is_that_in_memory(tmp_path):
    on_disk = check_resumed(cached(folder=str(tmp_path / "momenta")), tmp_path)
    np.testing.assert_array_equal(on_disk.params, check_resumed(cached, tmp_path).params)
    assert on_disk.memory.rule.momenta.size == 0


def check_resumed(rule, folder):
    """Return the last state of a run, after checking that no stop would have changed it."""
    run = replace(tiny_run(n_rounds=N_ROUNDS), defence=Defence(rule.name, rule))
    states = [state for _, state in simulate(run)]
    last = states[-1]
    assert 6 < len(ids_in(last.memory.rule.clients)) <= 12  # six of twelve in each round
    for n_done in (1, N_ROUNDS - 2):
        save_checkpoint(folder / "state.npz", run, states[n_done - 1])
        *_, (_, again) = simulate(run, after=load_checkpoint(folder / "state.npz", run))
        np.testing.assert_array_equal(again.params, last.params)
        for name, values in vars(last.memory.rule).items():
            np.testing.assert_array_equal(getattr(again.memory.rule, name), values)
    return last
