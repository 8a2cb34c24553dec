"""A watch over clients whose models lie in files."""

import hashlib
import os
import stat

import numpy as np
import pytest

from holdfast import defend, factions, fedavg, invariant, sparsefed
from holdfast.aggregators.sparsefed import SparseFedState
from holdfast.core import Memory
from holdfast.errors import DataError, InputError
from holdfast.files import aggregate_files, aggregating, load_tensors, save_tensors
from holdfast.files.room import Room
from holdfast.files.saving import load_memory, save_memory
from holdfast.files.stored import StoredTensor
from holdfast.watching import ClientMemory
from holdfast.watching.states import memory_arrays

from .rounds import assert_same, drawn
from .watched import N_ATTACKERS, N, a_base, write_watched

ATTACKERS = tuple(f"c{number:02}" for number in range(N_ATTACKERS))


def run_rounds(folder, rule, watch, n_rounds, base=None):
    """Yield each round of a training over files, with its output and its clients' models."""
    base = base or a_base()
    for number in range(1, n_rounds + 1):
        at, clients, models = write_watched(folder, number, base)
        out, state = folder / f"next{number}.safetensors", folder / "state.safetensors"
        said = aggregate_files(clients, rule, base=at, out=out, state=state, seed=5, watch=watch)
        yield said, out, base, models
        base = load_tensors(out)


@pytest.mark.parametrize("rule", [fedavg, invariant(tau=0.2)], ids=str)
def test_clients_are_known_by_their_files_names_and_files_give_the_bits_of_the_call_in_memory(rule, tmp_path):
    watch, state, found = factions(hearing=4.0, rewind=0, false_alarms=0.5), None, []
    for said, out, base, models in run_rounds(tmp_path, rule, watch, 6):
        rng = drawn(5, tmp_path / f"round{len(found) + 1}" / "base.safetensors")
        result = defend(models, rule, base=base, watch=watch, state=state, rng=rng)
        state = result.state
        assert_same(out, result.model)
        assert said.verdicts == result.verdicts
        assert said.diagnostics.as_dict() == result.diagnostics.as_dict()
        found.append((said.is_hearing, said.verdicts.of("expelled")))
    assert [hearing for hearing, _ in found] == [True, True, True, False, False, False]
    assert found[-1][1] == ATTACKERS
    assert [drop.client for drop in said.diagnostics.dropped] == [*ATTACKERS]
    assert len(said.diagnostics.clients) == N - N_ATTACKERS
    stored = load_tensors(tmp_path / "state.safetensors")
    for name, values in state.watch.as_arrays().items():
        np.testing.assert_array_equal(stored[f"watch.{name}"], values)


def test_a_hearing_writes_the_base_and_remembers_the_clients(tmp_path):
    heard = []
    for said, out, _, _ in run_rounds(tmp_path, fedavg, factions(hearing=9.0), 2):
        assert said.is_hearing
        assert not said.diagnostics.aggregated
        assert out.read_bytes() == (tmp_path / "round1" / "base.safetensors").read_bytes()
        heard.append({verdict.heard for verdict in said.verdicts})
    assert heard == [{1}, {2}]


def test_a_rewind_is_left_to_the_caller_who_has_the_first_model(tmp_path):
    watch = factions(hearing=0.0, false_alarms=0.5)
    rounds = [said for said, *_ in run_rounds(tmp_path, fedavg, watch, 4)]
    assert [said.wants_rewind for said in rounds] == [False, False, True, False]
    wanting = rounds[2]
    assert wanting.verdicts.of("expelled") == ATTACKERS
    assert wanting.diagnostics.aggregated  # without them
    assert not wanting.verdicts.rewound
    assert wanting.as_dict()["wants_rewind"] is True
    assert "REWIND: go back to the model from before the first round" in str(wanting)
    assert "REWIND" not in str(rounds[3])


def test_of_two_rounds_with_one_state_the_second_is_refused(tmp_path, monkeypatch):
    at, clients, _ = write_watched(tmp_path, 1, a_base())
    files = {"base": at, "state": tmp_path / "state.safetensors", "watch": factions()}
    defend_screened = aggregating.defend_screened

    def meanwhile(*given, **more):
        with pytest.raises(InputError, match=r"another round uses the state .*state\.safetensors: wait"):
            aggregate_files(clients, fedavg, out=tmp_path / "other", **files)
        return defend_screened(*given, **more)

    monkeypatch.setattr(aggregating, "defend_screened", meanwhile)
    said = aggregate_files(clients, fedavg, out=tmp_path / "next", **files)
    assert said.verdicts.round == 1
    assert not (tmp_path / "other").exists()
    assert not (tmp_path / "state.safetensors.lock").exists()


def test_before_the_rule_only_the_sample_and_one_cell_is_read(tmp_path, monkeypatch):
    n_read, read = {}, StoredTensor.read

    def counted(tensor, start, out):
        n_read[tensor.file.path.stem] = n_read.get(tensor.file.path.stem, 0) + out.size
        read(tensor, start, out)

    monkeypatch.setattr(StoredTensor, "read", counted)
    for _ in run_rounds(tmp_path, fedavg, factions(sample=80), 1):
        pass
    dim = sum(values.size for values in a_base().values())  # smaller than a cell
    assert {n_read[name] for name in n_read if name.startswith("c")} == {80 + dim}


def test_a_file_that_shrinks_before_the_watch_reads_it_is_dropped(tmp_path, monkeypatch):
    defend_screened = aggregating.defend_screened

    def after_a_deed(*given, **more):
        os.truncate(tmp_path / "round1" / "clients" / "c07.safetensors", 400)
        return defend_screened(*given, **more)

    monkeypatch.setattr(aggregating, "defend_screened", after_a_deed)
    ((said, *_),) = run_rounds(tmp_path, fedavg, factions(hearing=0.0), 1)
    assert [str(drop) for drop in said.diagnostics.dropped] == [
        "client c07: holds fewer bytes than when it was opened"
    ]
    assert len(said.diagnostics.clients) == N - 1
    assert "c07" not in {verdict.client for verdict in said.verdicts}


def test_a_watch_needs_a_file_to_remember_in(tmp_path):
    at, clients, _ = write_watched(tmp_path, 1, a_base())
    with pytest.raises(InputError, match=r"factions remembers the clients between rounds: name a file"):
        aggregate_files(clients, fedavg, base=at, out=tmp_path / "next", watch=factions())
    assert not (tmp_path / "next").exists()


def test_what_was_remembered_stays_in_a_round_without_the_watch(tmp_path):
    for _ in run_rounds(tmp_path, fedavg, factions(), 2):
        pass
    before = load_tensors(tmp_path / "state.safetensors")
    at, clients, _ = write_watched(tmp_path, 3, a_base())
    aggregate_files(clients, fedavg, base=at, out=tmp_path / "next", state=tmp_path / "state.safetensors")
    after = load_tensors(tmp_path / "state.safetensors")
    assert {name: values.tobytes() for name, values in after.items()} == {
        name: values.tobytes() for name, values in before.items()
    }


def test_whom_the_watch_expelled_stays_expelled_under_another_rule(tmp_path, caplog):
    watch = factions(hearing=0.0, rewind=0, false_alarms=0.5)
    *_, (said, *_) = run_rounds(tmp_path, sparsefed, watch, 3)
    assert said.verdicts.of("expelled") == ATTACKERS
    at, clients, _ = write_watched(tmp_path, 4, a_base())
    files = {"out": tmp_path / "next", "state": tmp_path / "state.safetensors", "watch": watch}
    said = aggregate_files(clients, invariant, base=at, **files)
    assert said.verdicts.round == 4
    assert said.verdicts.of("expelled") == ATTACKERS
    assert "starts anew; what the watch remembers of the clients stays" in caplog.text


def test_only_its_owner_may_read_a_new_state_and_an_old_one_keeps_its_mode(tmp_path):
    state = tmp_path / "state.safetensors"
    found = []
    for _, out, *_ in run_rounds(tmp_path, fedavg, factions(), 2):
        found.append(stat.S_IMODE(state.stat().st_mode))
        assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~mask()
        state.chmod(0o640)
    assert found == [0o600, 0o640]


def mask():
    """What new files are denied to others."""
    found = os.umask(0)
    os.umask(found)
    return found


def test_a_damaged_memory_or_one_that_does_not_fit_is_an_error(tmp_path):
    for _ in run_rounds(tmp_path, fedavg, factions(), 1):
        pass
    state, files = tmp_path / "state.safetensors", {"out": tmp_path / "next", "watch": factions()}
    at, clients, _ = write_watched(tmp_path, 2, a_base())
    stored = load_tensors(state)
    save_tensors(
        state,
        stored | {"watch.heard": stored["watch.heard"][1:]},
        metadata={"holdfast": "state", "rule": "fedavg"},
    )
    with pytest.raises(DataError, match="does not fit: this is no memory of clients"):
        aggregate_files(clients, fedavg, base=at, state=state, **files)
    many = ClientMemory().with_clients(range(800), 16_384)
    save_memory(state, fedavg, Memory(watch=many))
    with pytest.raises(InputError, match=r"the memories of all clients take 27MB, .* allow at least \d+MB"):
        aggregate_files(clients, fedavg, base=at, state=state, memory="350MB", **files)
    assert not (tmp_path / "next").exists()


def test_a_state_whose_digest_does_not_cover_the_rule_is_still_read(tmp_path):
    path, state = tmp_path / "state.safetensors", SparseFedState(np.ones(3), np.arange(3.0), np.ones(2))
    arrays = memory_arrays(sparsefed, Memory(state))
    found = hashlib.sha256()
    for name, values in arrays.items():
        found.update(f"{name!r} {values.dtype} {values.shape}".encode() + values.tobytes())
    said = {"holdfast": "state", "rule": "sparsefed", "digest": found.hexdigest()}
    save_tensors(path, arrays, metadata=said)
    assert load_memory(path, sparsefed, Room(tmp_path, 10**6)).rule.error.tolist() == [0, 1, 2]


def test_no_flipped_bit_of_a_state_goes_unnoticed(tmp_path):
    path, state = tmp_path / "state.safetensors", SparseFedState(np.ones(3), np.arange(3.0), np.ones(2))
    save_memory(path, sparsefed, Memory(state))
    whole, room = path.read_bytes(), Room(tmp_path, 10**6)
    assert load_memory(path, sparsefed, room).rule.error.tolist() == [0, 1, 2]
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"the state, .*state\.safetensors"):
            load_memory(path, sparsefed, room)
