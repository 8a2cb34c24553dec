import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from holdfast._support.atomic import replacing
from holdfast.errors import DataError
from holdfast.lab.simulation import simulate
from holdfast.runs import epochs, recording
from holdfast.runs.checkpoints import load_checkpoint, save_checkpoint
from holdfast.runs.recording import final_state, run_and_record
from holdfast.runs.results import Result, pack_results
from holdfast.runs.store import files_of

from .tiny import assert_same, load_result, made, stop_after, timeless, tiny_run, watched_run


def test_a_result_says_all_that_happened(tmp_path):
    run = tiny_run("invariant")
    made(run, tmp_path)
    stored = json.loads(files_of(run.key, tmp_path).result.read_text())
    assert stored["description"] == run.description
    assert stored["finished"] is True
    assert [record["round"] for record in stored["records"]] == [1, 2, 3]
    record = stored["records"][0]
    assert set(record["attackers"]) <= set(record["clients"])
    assert len(record["attackers"]) == record["n_attackers"]
    assert record["diagnostics"]["dropped"] == []
    assert 0 <= record["diagnostics"]["kept_fraction"] <= 1
    for name in ("norms", "cosines", "opposed_share", "trimmed_share"):
        assert len(record["diagnostics"][name]) == 6
    assert {path.name for path in tmp_path.iterdir()} == {f"{run.key}.json", f"{run.key}.npz"}


@pytest.mark.parametrize("defence", ["sparsefed", "fltrust", "weak_dp", "centered_clipping", "invariant"])
def test_a_resumed_run_is_the_same_to_the_bit(tmp_path, defence):
    run = tiny_run(defence, "edge-case+adaptive", n_rounds=5)
    made(run, tmp_path / "whole")
    stop_after(3, run, tmp_path / "parts", every=2)
    assert load_checkpoint(files_of(run.key, tmp_path / "parts").checkpoint, run).round == 2
    rounds = [result.n_done for result in run_and_record(run, tmp_path / "parts")]
    assert rounds == [2, 3, 4, 5]
    assert_same(run, tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize(("hearing", "n_before"), [(2, 1), (0, 2), (0, 4)])
def test_a_watch_that_is_resumed_in_a_hearing_or_before_or_after_a_rewind_is_the_same_to_the_bit(
    tmp_path, hearing, n_before
):
    run = watched_run("sparsefed", hearing=hearing)
    whole = made(run, tmp_path / "whole")
    assert whole.summary.watched["rewinds"] == ([] if hearing else [3])
    assert whole.last("n_found") == 5
    stop_after(n_before, run, tmp_path / "parts")
    assert next(run_and_record(run, tmp_path / "parts")).n_done == n_before
    made(run, tmp_path / "parts")
    assert_same(run, tmp_path / "whole", tmp_path / "parts")


def test_records_beyond_the_checkpoint_are_made_again(tmp_path):
    run = tiny_run("sparsefed", n_rounds=4)
    made(run, tmp_path / "whole")
    stop_after(2, run, tmp_path / "parts", every=2)
    kept = files_of(run.key, tmp_path / "parts").checkpoint.read_bytes()
    stop_after(3, run, tmp_path / "parts")
    files_of(run.key, tmp_path / "parts").checkpoint.write_bytes(
        kept
    )  # killed after the records, before the state
    assert next(run_and_record(run, tmp_path / "parts")).n_done == 2
    made(run, tmp_path / "parts")
    assert_same(run, tmp_path / "whole", tmp_path / "parts")


def test_a_run_that_died_as_it_finished_is_finished_without_training(tmp_path, monkeypatch):
    run = tiny_run()
    made(run, tmp_path / "whole")

    write = Result.write

    def die_at_last(result, path):
        if path == files_of(run.key, tmp_path / "parts").result:
            raise KeyboardInterrupt
        write(result, path)

    monkeypatch.setattr(Result, "write", die_at_last)
    with pytest.raises(KeyboardInterrupt):
        made(run, tmp_path / "parts")
    monkeypatch.undo()
    assert not load_result(run, tmp_path / "parts").finished
    assert [result.n_done for result in run_and_record(run, tmp_path / "parts")] == [3, 3]
    assert_same(run, tmp_path / "whole", tmp_path / "parts")
    assert not files_of(run.key, tmp_path / "parts").making.exists()


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_finished_run_is_only_read(tmp_path, is_packed):
    run = tiny_run()
    made(run, tmp_path)
    if is_packed:
        pack_results(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert [result.finished for result in run_and_record(run, tmp_path)] == [True]
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_finished_result_and_its_model_stay_until_the_new_ones_are_finished(tmp_path, is_packed):
    run = tiny_run()
    old = made(run, tmp_path)
    model = files_of(run.key, tmp_path).model.read_bytes()
    if is_packed:
        pack_results(tmp_path)
    stop_after(2, run, tmp_path, resume=False)
    assert load_result(run, tmp_path).finished
    assert load_result(run, tmp_path).summary == old.summary
    assert files_of(run.key, tmp_path).model.read_bytes() == model
    assert made(run, tmp_path, resume=False).series("seconds") != old.series("seconds")
    assert load_result(run, tmp_path).series("seconds") != old.series("seconds")
    assert timeless(load_result(run, tmp_path)) == timeless(old)


def test_two_iterators_over_the_same_run_do_not_disturb_each_other(tmp_path):
    run = tiny_run(n_rounds=4)
    one, other = run_and_record(run, tmp_path, every=1), run_and_record(run, tmp_path, every=1)
    for _ in range(3):
        next(one), next(other)
    with replacing(files_of(run.key, tmp_path).making) as file:
        file.write(b"of a third, who is alive and slow")
        assert [result.n_done for result in one] == [3, 4]
        assert [result.n_done for result in other] == [3, 4]
        made(run, tmp_path)
    files_of(run.key, tmp_path).making.unlink()
    made(run, tmp_path / "alone")
    assert_same(run, tmp_path, tmp_path / "alone")


class Trap:
    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


def damage(path, kind):
    if kind == "pickle":
        path.write_bytes(pickle.dumps(Trap()))
    elif kind == "pickled array":
        np.savez(path, params=np.array([Trap()], dtype=object), round=1, made_by=np.array(["a"]))
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:-300])
    elif kind == "one bit":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        path.write_bytes(b"")


@pytest.mark.parametrize("kind", ["pickle", "pickled array", "cut", "one bit", "empty"])
def test_a_damaged_checkpoint_is_never_loaded_and_the_run_made_anew(tmp_path, monkeypatch, caplog, kind):
    monkeypatch.chdir(tmp_path)
    run = tiny_run()
    made(run, tmp_path / "whole")
    stop_after(2, run, tmp_path / "parts")
    path = files_of(run.key, tmp_path / "parts").checkpoint
    damage(path, kind)
    with pytest.raises(DataError, match="is not a checkpoint, or a damaged one"):
        load_checkpoint(path, run)
    assert len(made(run, tmp_path / "parts").records) == 3
    assert "the run is made anew" in caplog.text
    assert not Path("sprung").exists()
    assert_same(run, tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"records": 3}', "null", '{"records": [{}]}'])
def test_a_damaged_result_is_refused_with_a_reason_and_the_run_made_anew(tmp_path, caplog, text):
    run = tiny_run()
    stop_after(2, run, tmp_path)
    files_of(run.key, tmp_path).making.write_text(text)
    with pytest.raises(DataError, match=r"making\.json cannot be used: it is not a result"):
        load_result(run, tmp_path)
    assert [result.n_done for result in run_and_record(run, tmp_path)] == [0, 1, 2, 3]
    assert "cannot be used" in caplog.text


def test_a_result_of_older_code_is_not_used_and_the_reason_said(tmp_path, caplog, monkeypatch):
    run = tiny_run("median")
    made(run, tmp_path)
    made(tiny_run(), tmp_path)
    monkeypatch.setattr(epochs, "CHANGES", (*epochs.CHANGES, ("median", "the median takes the lower half")))
    with pytest.raises(DataError, match="the median takes the lower half"):
        load_result(run, tmp_path)
    assert load_result(tiny_run(), tmp_path).finished  # the change does not touch it
    assert [result.n_done for result in run_and_record(run, tmp_path)] == [0, 1, 2, 3]
    assert "the median takes the lower half" in caplog.text
    assert load_result(run, tmp_path).finished


def test_a_checkpoint_of_older_code_is_not_used(tmp_path, monkeypatch):
    run = tiny_run()
    stop_after(2, run, tmp_path)
    monkeypatch.setattr(epochs, "CHANGES", (*epochs.CHANGES, ("", "all is different")))
    with pytest.raises(DataError, match="another key, code or device"):
        load_checkpoint(files_of(run.key, tmp_path).checkpoint, run)


def test_a_result_from_other_examples_is_not_used_and_the_reason_said(tmp_path, caplog):
    run = tiny_run()
    made(run, tmp_path)
    stored = json.loads(files_of(run.key, tmp_path).result.read_text())
    files_of(run.key, tmp_path).result.write_text(json.dumps(stored | {"data": "0" * 64}))
    assert [result.n_done for result in run_and_record(run, tmp_path)] == [0, 1, 2, 3]
    assert "it was made from other examples" in caplog.text


def test_a_finished_result_is_read_where_its_data_is_absent(tmp_path, monkeypatch):
    run = tiny_run()
    made(run, tmp_path)

    def absent(data):
        raise DataError("no such data here")

    monkeypatch.setattr(recording, "data_checksum", absent)
    assert [result.finished for result in run_and_record(run, tmp_path)] == [True]


def test_a_result_counts_whatever_device_made_it_but_a_checkpoint_does_not(tmp_path):
    run = tiny_run()
    stop_after(2, run, tmp_path)
    with pytest.raises(DataError, match="another key, code or device"):
        load_checkpoint(files_of(run.key, tmp_path).checkpoint, run, device="cuda")
    made(run, tmp_path)
    (result,) = run_and_record(run, tmp_path, device="cuda")
    assert result.device == "cpu"


def test_the_checkpoint_of_another_run_is_refused(tmp_path):
    run, other = tiny_run(), tiny_run(seed=1)
    made(run, tmp_path)
    with pytest.raises(DataError, match="another key, code or device"):
        load_checkpoint(files_of(run.key, tmp_path).model, other)


def test_the_final_state_is_read_or_made_again(tmp_path):
    run = tiny_run()
    *_, (_, wanted) = simulate(run)
    for _ in range(2):
        np.testing.assert_array_equal(final_state(run, tmp_path).params, wanted.params)
        files_of(run.key, tmp_path).model.unlink()
    files_of(run.key, tmp_path).model.write_bytes(b"half")
    np.testing.assert_array_equal(final_state(run, tmp_path).params, wanted.params)
    early = next(simulate(run))[1]
    save_checkpoint(files_of(run.key, tmp_path).model, run, early)
    np.testing.assert_array_equal(final_state(run, tmp_path).params, wanted.params)


def test_a_watch_says_the_same_with_any_number_of_threads(tmp_path, monkeypatch):
    run = watched_run()
    for threads in ("1", "2"):
        monkeypatch.setenv("HOLDFAST_THREADS", threads)
        made(run, tmp_path / threads)
    assert_same(run, tmp_path / "1", tmp_path / "2")


def test_the_same_bits_come_with_any_number_of_torch_threads(tmp_path):
    import torch

    from holdfast.lab.choices import Numbers, build_run

    run = build_run("digits", attack="edge-case", numbers=Numbers(3, 12, 6, 2))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            made(run, tmp_path / str(threads))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert_same(run, tmp_path / "1", tmp_path / "2")
