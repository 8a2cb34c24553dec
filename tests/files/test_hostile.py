"""What a client leaves in place of its file is dropped by name, and never stops the round."""

import json
import os

import numpy as np
import pytest

from holdfast import invariant, median, multi_krum
from holdfast.files import aggregate_files, load_tensors
from holdfast.files.header import parsed
from holdfast.files.room import Room
from holdfast.updates.layout import Unfit

from ..fuzz.damage import mutated
from .hostile import HOSTILE, all_given, split
from .rounds import assert_same, in_memory, some_models, write_round


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_dropped_by_name_with_the_reason(name, tmp_path):
    base, models = some_models(5)
    at, clients = write_round(tmp_path, base, models)
    reason = HOSTILE[name](clients[2])
    said = aggregate_files(all_given(clients), median, base=at, out=tmp_path / "next.safetensors")
    assert [drop.client for drop in said.diagnostics.dropped] == ["c02"]
    assert reason in said.diagnostics.dropped[0].reason
    assert str(said).replace("\n", "").isprintable()
    assert len(said.diagnostics.dropped[0].reason) < 300
    expected, _ = in_memory(base, [*models[:2], *models[3:]], median)
    assert_same(tmp_path / "next.safetensors", expected)


class Interrupted(Room):
    """Does something to the files between two steps of a pass."""

    deed = None

    def parts(self, rows, job, out):
        for number, part in enumerate(super().parts(rows, job, out)):
            if self.deed is not None and number == 0:
                self.deed, deed = None, self.deed
                deed()
            yield part


@pytest.mark.parametrize("deed", ["shrinks", "grows", "is rewritten"])
@pytest.mark.parametrize("rule", [invariant, multi_krum(n_malicious=1)], ids=lambda r: r.name)
def test_a_file_that_changes_while_it_is_read_is_dropped(deed, rule, tmp_path, monkeypatch):
    base, models = some_models(7, shapes={"w": (40 * 32768,)})
    at, clients = write_round(tmp_path, base, models)

    def do():
        if deed == "shrinks":
            os.truncate(clients[2], 1000)
        elif deed == "grows":
            os.truncate(clients[2], 10**8)
        else:
            with open(clients[2], "r+b") as file:
                file.seek(5000)
                file.write(b"other bytes")

    monkeypatch.setattr(Interrupted, "deed", staticmethod(do))
    monkeypatch.setattr("holdfast.files.aggregating.Room", Interrupted)
    monkeypatch.setenv("HOLDFAST_THREADS", "1")
    said = aggregate_files(clients, rule, base=at, out=tmp_path / "next.safetensors")
    assert [drop.client for drop in said.diagnostics.dropped] == ["c02"]
    assert ("fewer bytes" if deed == "shrinks" else "changed while") in said.diagnostics.dropped[0].reason
    expected, _ = in_memory(base, [*models[:2], *models[3:]], rule)
    assert_same(tmp_path / "next.safetensors", expected)


def test_two_thousand_mutated_headers_crash_nothing_and_none_is_accepted_wrongly(tmp_path):
    """A header is right if the reference library reads the file, and what it then says is what ours says."""
    safetensors = pytest.importorskip("safetensors", reason="the reference library is not installed")
    base, models = some_models(
        1,
        shapes={
            "encoder.layers.0.attention.weight": (2, 3),
            "encoder.layers.0.attention.bias": (),
            "no": (0,),
        },
    )
    _, (path,) = write_round(tmp_path, base, models)
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    rng = np.random.default_rng(0)
    outcomes = {"accepted": 0, "refused": 0}
    for number in range(2000):
        text = mutated(rng, raw[8 : 8 + length])
        stated = len(text) if number % 4 else int(rng.integers(0, 2 * len(text) + 1))
        whole = stated.to_bytes(8, "little") + text + raw[8 + length :]
        try:
            header = parsed(whole, len(whole))
        except Unfit:
            outcomes["refused"] += 1
            continue
        outcomes["accepted"] += 1
        theirs = dict(safetensors.deserialize(whole))
        assert {tensor.name for tensor in header.tensors} == set(theirs)
        for tensor in header.tensors:
            own = theirs[tensor.name]
            assert (list(tensor.shape), tensor.type_name) == (own["shape"], own["dtype"])
            assert whole[tensor.start : tensor.stop] == bytes(own["data"])
    assert outcomes["refused"] > 1000
    assert outcomes["accepted"] > 50  # a changed name or a space is no lie


def test_ints_beyond_all_limits_are_refused_not_parsed(tmp_path):
    text = b'{"a":{"dtype":"F32","shape":[' + b"9" * 5000 + b'],"data_offsets":[0,4]}}'
    with pytest.raises(Unfit, match="not JSON"):
        parsed(len(text).to_bytes(8, "little") + text + b"0000", len(text) + 12)


def test_with_nobody_left_the_model_stays_as_it_is(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    for path in clients:
        path.write_bytes(b"no model")
    said = aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    assert not said.diagnostics.aggregated
    assert len(said.diagnostics.dropped) == 3
    assert (tmp_path / "next.safetensors").read_bytes() == at.read_bytes()


def test_too_few_left_for_the_rule_leave_the_model_as_it_is(tmp_path):
    base, models = some_models(5)
    at, clients = write_round(tmp_path, base, models)
    clients[0].write_bytes(b"no model")
    said = aggregate_files(clients, multi_krum(n_malicious=2), base=at, out=tmp_path / "next.safetensors")
    assert not said.diagnostics.aggregated
    assert "needs n >= f + 3" in said.diagnostics.notes[0]
    assert (tmp_path / "next.safetensors").read_bytes() == at.read_bytes()


def test_the_edited_headers_of_these_tests_are_read_when_nothing_is_wrong_with_them(tmp_path):
    base, models = some_models(1)
    _, (path,) = write_round(tmp_path, base, models)
    header, data = split(path)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    assert list(load_tensors(path)) == list(base)
