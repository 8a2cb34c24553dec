from dataclasses import replace

import numpy as np
import pytest

from holdfast.core import Memory
from holdfast.errors import DataError, InputError
from holdfast.lab.simulation import State, simulate
from holdfast.runs.checkpoints import load_checkpoint, save_checkpoint
from holdfast.runs.store import files_of

from .tiny import made, stop_after, timeless, tiny_run


def test_the_checkpoint_at_the_end_is_the_final_model(tmp_path):
    run = tiny_run()
    made(run, tmp_path)
    *_, (_, state) = simulate(run)
    np.testing.assert_array_equal(
        load_checkpoint(files_of(run.key, tmp_path).model, run).params, state.params
    )


def test_what_a_rule_remembers_comes_back_as_its_own_type(tmp_path):
    run = tiny_run("sparsefed")
    made(run, tmp_path)
    state = load_checkpoint(files_of(run.key, tmp_path).model, run).memory.rule
    assert type(state).__name__ == "SparseFedState"
    assert len(state.norms) == 18
    assert state.error.any()


def test_a_state_that_cannot_be_stored_is_said_so(tmp_path):
    run = tiny_run()
    state = State(1, np.zeros(2, np.float32), memory=Memory({"a": 1}))
    with pytest.raises(InputError, match="the state of fedavg cannot be stored"):
        save_checkpoint(tmp_path / "x.npz", run, state)
    save_checkpoint(tmp_path / "x.npz", run, replace(state, memory=Memory(np.arange(3))))
    assert load_checkpoint(tmp_path / "x.npz", run).memory.rule.tolist() == [0, 1, 2]


def test_buffers_and_what_clients_keep_come_back(tmp_path):
    run = tiny_run()
    kept = {3: {"momentum": np.ones(2)}, 11: {"momentum": np.zeros(2), "step": np.array(4)}}
    zeros, ones = np.zeros(2, np.float32), np.ones(2, np.float32)
    state = State(1, zeros, previous=ones, buffers={"mean": np.ones(4)}, kept=kept)
    save_checkpoint(tmp_path / "x.npz", run, state)
    found = load_checkpoint(tmp_path / "x.npz", run)
    np.testing.assert_equal(
        (found.previous, found.buffers, found.kept), (state.previous, state.buffers, kept)
    )


def test_no_flipped_bit_of_a_checkpoint_goes_unnoticed(tmp_path):
    run, path = tiny_run("sparsefed", sizes=(45, 2)), tmp_path / "x.npz"
    *_, (_, state) = simulate(run)
    save_checkpoint(path, run, state)
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="not a checkpoint, or a damaged one"):
            load_checkpoint(path, run)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_run_whose_checkpoint_is_damaged_is_made_anew(share, tmp_path, caplog):
    run = tiny_run("sparsefed")
    whole = made(run, tmp_path / "whole")
    stop_after(2, run, tmp_path / "damaged")
    path = files_of(run.key, tmp_path / "damaged").checkpoint
    damaged = bytearray(path.read_bytes())
    damaged[round(share * len(damaged))] ^= 1
    path.write_bytes(damaged)
    assert timeless(made(run, tmp_path / "damaged")) == timeless(whole)
    assert "the run is made anew" in caplog.text
