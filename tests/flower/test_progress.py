"""A training that was stopped resumes from its checkpoint to the same bits, with the rounds counted on."""

import errno
import os
from contextlib import contextmanager

import numpy as np
import pytest
from flwr.app import MetricRecord
from flwr.serverapp.strategy import FedAdam, FedAvgM

from holdfast import centered_clipping, invariant, median, sparsefed
from holdfast.aggregators import cached, fl_detector, foolsgold
from holdfast.errors import DataError, InputError
from holdfast.flower import Robust
from holdfast.flower.progress import load_progress

from .nodes import Federation, arrays_in, model, record

KINDS = {
    "without state": lambda **to: Robust(invariant, **to),
    "SparseFed": lambda **to: Robust(sparsefed(kept=0.2), **to),
    "centered clipping": lambda **to: Robust(centered_clipping, **to),
    "FoolsGold": lambda **to: Robust(foolsgold, **to),
    "cached momenta": lambda **to: Robust(cached, **to),
    "FLDetector": lambda **to: Robust(fl_detector(window=1), **to),
    "FedAdam": lambda **to: Robust(median, inner=FedAdam(), **to),
    "FedAvgM": lambda **to: Robust(median, inner=FedAvgM(server_momentum=0.9), **to),
}


@contextmanager
def full_disk(monkeypatch, step):
    """Make one step of writing a file fail as a full disk makes it fail."""

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, full)
        yield


def bits(result):
    return {name: values.tobytes() for name, values in arrays_in(result.arrays).items()}


def run(strategy, n_rounds, **options):
    return strategy.start(Federation(), record(model()), num_rounds=n_rounds, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_a_training_resumes_to_the_same_bits(kind, tmp_path):
    path = tmp_path / "some" / "training.npz"
    whole = run(KINDS[kind](), 4)
    run(KINDS[kind](checkpoint=path), 2)
    resumed = run(KINDS[kind](checkpoint=path, resume=True), 4)
    assert bits(resumed) == bits(whole)
    assert [*resumed.train_metrics_clientapp] == [3, 4]
    assert bits(run(KINDS[kind](), 2)) != bits(whole)


def test_the_rounds_that_nodes_and_the_evaluation_see_are_counted_on(tmp_path):
    path = tmp_path / "training.npz"
    run(Robust(invariant, checkpoint=path), 2)
    federation, seen = Federation(), []
    result = Robust(invariant, checkpoint=path, resume=True).start(
        federation,
        record(model()),
        num_rounds=3,
        evaluate_fn=lambda number, arrays: seen.append(number) or MetricRecord({"x": number}),
    )
    assert seen == [2, 3]
    assert [*result.evaluate_metrics_serverapp] == [2, 3]
    assert {message.content["config"]["server-round"] for message in federation.sent} == {3}


def test_a_training_that_is_over_gives_its_model_again(tmp_path):
    path = tmp_path / "training.npz"
    first = run(Robust(invariant, checkpoint=path), 2)
    again = run(Robust(invariant, checkpoint=path, resume=True), 2)
    assert bits(again) == bits(first)
    assert again.train_metrics_clientapp == {}


def test_without_a_checkpoint_to_resume_from_the_training_starts(tmp_path):
    strategy = Robust(invariant, checkpoint=tmp_path / "training.npz", resume=True)
    assert bits(run(strategy, 1)) == bits(run(Robust(invariant), 1))


def test_without_resume_a_checkpoint_is_never_overwritten(tmp_path):
    path, federation = tmp_path / "training.npz", Federation()
    run(Robust(invariant, checkpoint=path), 2)
    held = path.read_bytes()
    told = "holds a training after round 2: pass resume=True to go on, or move it away"
    with pytest.raises(InputError, match=told):
        Robust(invariant, checkpoint=path).start(federation, record(model()), num_rounds=1)
    assert path.read_bytes() == held
    assert not federation.sent
    path.write_bytes(b"somebody's notes")
    with pytest.raises(InputError, match="no checkpoint that can be read: move it away"):
        run(Robust(invariant, checkpoint=path), 1)
    path.unlink()
    assert bits(run(Robust(invariant, checkpoint=path), 1)) == bits(run(Robust(invariant), 1))


def test_a_training_that_has_no_rounds_left_says_so(tmp_path, caplog):
    path = tmp_path / "training.npz"
    run(Robust(invariant, checkpoint=path), 2)
    caplog.set_level("INFO")
    run(Robust(invariant, checkpoint=path, resume=True), 1)
    assert "is after round 2, and num_rounds=1 counts all rounds: nothing is left to do" in caplog.text
    assert "Resuming" not in caplog.text


def test_another_rule_resumes_with_the_model_and_a_state_of_its_own(tmp_path, caplog):
    path = tmp_path / "training.npz"
    run(Robust(sparsefed, checkpoint=path), 2)
    result = run(Robust(sparsefed(kept=0.5), checkpoint=path, resume=True), 3)
    assert [*result.train_metrics_clientapp] == [3]
    assert "the state of sparsefed starts anew" in caplog.text


def test_a_damaged_file_and_one_of_another_model_are_refused(tmp_path):
    path = tmp_path / "training.npz"
    run(Robust(invariant, checkpoint=path), 1)
    whole = path.read_bytes()
    strategy = Robust(invariant, checkpoint=path, resume=True)
    with pytest.raises(DataError, match="of another model"):
        strategy.start(Federation(), record({"w": np.ones(3, np.float32)}), num_rounds=2)
    for damaged in (b"", whole[: len(whole) // 2], b"PK\x03\x04" + b"x" * 100):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="no checkpoint, or a damaged one"):
            run(strategy, 2)
    np.savez(path, round=np.array(1))
    with pytest.raises(DataError, match="no checkpoint, or a damaged one"):
        run(strategy, 2)


@pytest.mark.parametrize("kind", ["SparseFed", "FedAdam"])
def test_no_flipped_bit_of_a_checkpoint_goes_unnoticed(kind, tmp_path):
    path = tmp_path / "training.npz"
    run(KINDS[kind](checkpoint=path), 1)
    strategy = KINDS[kind]()
    whole, like = path.read_bytes(), record(model())
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError, match="no checkpoint, or a damaged one"):
            load_progress(path, rule=strategy.rule, watch=None, inner=strategy.inner, like=like)


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_costs_the_checkpoint_and_never_the_training(step, tmp_path, monkeypatch, caplog):
    path = tmp_path / "training.npz"
    run(Robust(invariant, checkpoint=path), 1)
    with full_disk(monkeypatch, step):
        result = run(Robust(invariant, checkpoint=path, resume=True), 3)
    assert bits(result) == bits(run(Robust(invariant), 3))
    assert [*result.train_metrics_clientapp] == [2, 3]
    assert f"the checkpoint {path} could not be written after round 3" in caplog.text
    assert "No space left on device" in caplog.text
    assert "it is of an earlier round" in caplog.text
    assert [one.name for one in tmp_path.iterdir()] == ["training.npz"]  # nothing half written takes up room
    resumed = run(Robust(invariant, checkpoint=path, resume=True), 3)
    assert [*resumed.train_metrics_clientapp] == [2, 3]
    assert bits(resumed) == bits(result)


def test_a_place_where_no_checkpoint_can_ever_be_is_refused_before_nodes_train(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    federation = Federation()
    strategy = Robust(invariant, checkpoint=tmp_path / "file" / "training.npz")
    with pytest.raises(InputError, match=r"checkpoint=.*cannot be written"):
        strategy.start(federation, record(model()), num_rounds=1)
    assert federation.sent == []


def test_a_failed_round_is_counted_and_changes_nothing_that_is_stored(tmp_path):
    path = tmp_path / "training.npz"
    strategy = Robust(sparsefed(kept=0.2), checkpoint=path)
    silent = Federation(dict.fromkeys(Federation().behaviours, lambda message: None))
    strategy.start(silent, record(model()), num_rounds=1)
    resumed = run(Robust(sparsefed(kept=0.2), checkpoint=path, resume=True), 2)
    assert [*resumed.train_metrics_clientapp] == [2]
    assert bits(resumed) == bits(run(Robust(sparsefed(kept=0.2)), 1))
