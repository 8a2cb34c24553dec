"""A warm start is trained once per folder, and all runs that share it begin with the same bits."""

from functools import partial

import numpy as np

from holdfast.lab.scenario import Attack
from holdfast.lab.simulation import simulate
from holdfast.lab.training import sgd
from holdfast.runs import warm
from holdfast.runs.recording import final_state

from .tiny import tiny_run


def warm_run(defence="fedavg", **changes):
    return tiny_run(defence).replace(warm_epochs=2, **changes)


def test_runs_that_differ_in_attack_defence_and_rounds_share_one_warm_start(tmp_path, monkeypatch):
    first = warm.warm_state(warm_run(), tmp_path)
    (path,) = tmp_path.iterdir()
    assert path.name.endswith(".warm.npz")
    monkeypatch.setattr(warm, "fresh_state", None)  # nothing is trained again
    for other in (warm_run("median"), warm_run(n_rounds=7), warm_run(attack=Attack())):
        found = warm.warm_state(other, tmp_path)
        assert found.round == 0
        np.testing.assert_array_equal(found.params, first.params)


def test_another_warm_start_is_not_taken_for_it(tmp_path):
    starts = [warm_run(), warm_run(seed=1), warm_run(warm=partial(sgd, lr=0.3))]
    found = [warm.warm_state(run, tmp_path).params for run in starts]
    assert len(list(tmp_path.iterdir())) == 3
    assert (found[0] != found[1]).any()
    assert (found[0] != found[2]).any()


def test_a_damaged_file_is_made_anew(tmp_path):
    first = warm.warm_state(warm_run(), tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    np.testing.assert_array_equal(warm.warm_state(warm_run(), tmp_path).params, first.params)


def test_a_recorded_run_from_a_stored_start_is_that_of_the_simulator(tmp_path):
    run = warm_run(warm=partial(sgd, lr=0.3))
    *_, (_, state) = simulate(run)
    np.testing.assert_array_equal(final_state(run, tmp_path).params, state.params)
    np.testing.assert_array_equal(final_state(run, tmp_path).params, state.params)  # the file is there now


def test_a_run_without_a_warm_start_stores_none(tmp_path):
    assert warm.warm_state(tiny_run("fedavg"), tmp_path) is None
    assert list(tmp_path.iterdir()) == []
