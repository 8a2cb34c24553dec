"""cached: momenta of all clients, in memory or on disk, in front of any rule."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError, defend, fltrust, invariant, krum, median, rfa, sparsefed, trimmed_mean
from holdfast._support.arrays import read_arrays, write_arrays
from holdfast._support.ids import ids_in
from holdfast.aggregators import cached, foolsgold, momenta, shelf
from holdfast.core import Aggregate, Memory, rule
from holdfast.errors import DataError, NonFiniteError
from holdfast.updates import rows_of
from holdfast.watching.states import memory_arrays, restored_memory

from .. import naive, naive_histories


def half_per_round(n_rounds=8, n=10, dim=30, dtype=np.float32, seed=0):
    """Yield rounds in which half of the clients take part: their ids, and what they send."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(n, dim))
    for _ in range(n_rounds):
        present = rng.choice(n, size=n // 2, replace=False)
        sent = (own[present] + rng.normal(size=(n // 2, dim))).astype(dtype)
        yield [f"c{i}" for i in present], sent


def trained(chosen, rounds=None, passed_on=lambda state: state, state=None):
    """Return the updates of all rounds and the last state."""
    updates = []
    for clients, sent in half_per_round() if rounds is None else rounds:
        result = chosen(sent, clients=clients, state=state)
        state = passed_on(result.state)
        updates.append(result.update)
    return updates, state


def test_two_rounds_worked_by_hand():
    first = cached(np.array([[4.0, 0.0], [0.0, 8.0]]), rule=median, momentum=0.25, clients=["ann", "bob"])
    np.testing.assert_array_equal(first.state.momenta, [[1, 0], [0, 2]])
    second = cached(
        np.array([[8.0, 4.0], [9.0, 8.0]]),
        rule=median,
        momentum=0.25,
        clients=["bob", "eve"],
        state=first.state,
    )
    np.testing.assert_array_equal(second.state.momenta, [[1, 0], [2, 2.5], [2.25, 2]])
    np.testing.assert_array_equal(second.update, [2, 2])
    assert ids_in(second.state.clients) == ("ann", "bob", "eve")
    assert second.state.last.tolist() == [1, 2, 2]
    assert second.diagnostics.notes == (
        "the rule sees 3 clients, 1 of them by a momentum of an earlier round; 48 B in memory",
    )


@pytest.mark.parametrize(
    "behind", [trimmed_mean, invariant(tau=0.3), krum(n_malicious=2), rfa, fltrust], ids=lambda r: r.name
)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_with_a_momentum_of_one_and_all_clients_it_is_the_rule_itself(behind, dtype):
    state, rng = None, np.random.default_rng(0)
    given = {"reference": np.ones(7, dtype), "weights": [3, 2, 1, 1, 2, 1, 2, 3, 1]}
    for _ in range(3):
        sent = rng.normal(size=(9, 7)).astype(dtype)
        result = cached(sent, rule=behind, momentum=1.0, clients=range(9), state=state, **given)
        state = result.state
        alone = behind(rows_of(sent, explain=True), **given)
        np.testing.assert_array_equal(result.update, alone.update)
        assert result.update.dtype == dtype
        for field in ("covered", "tolerates", "kept_fraction", "selected", "client_weights"):
            np.testing.assert_array_equal(
                getattr(result.diagnostics, field), getattr(alone.diagnostics, field)
            )


def test_half_of_the_clients_per_round_get_what_the_slow_twin_gives_them():
    got, _ = trained(cached(rule=invariant(tau=0.4), momentum=0.3), half_per_round(dtype=np.float64))
    memory = {}
    for update, (clients, sent) in zip(got, half_per_round(dtype=np.float64), strict=True):
        expected = naive_histories.cached(
            sent, clients, memory, 0.3, lambda rows: naive.invariant(rows, 0.4, 0.25)
        )
        np.testing.assert_allclose(update, expected.astype(float), atol=1e-12)
    assert len(memory) == 10


def test_models_of_layers_with_a_base_are_remembered_as_their_updates():
    base = [np.ones((2, 3), np.float32), np.zeros(4, np.float16)]
    updates = [np.round(sent * 64) / 64 for _, sent in half_per_round(n_rounds=2, dim=10)]
    state = None
    for sent in updates:
        models = [[base[0] + row[:6].reshape(2, 3), base[1] + row[6:].astype(np.float16)] for row in sent]
        result = defend(models, cached, base=base, clients=range(5), state=state)
        state = result.state
    expected = trained(cached, [(range(5), sent) for sent in updates])[1]
    np.testing.assert_array_equal(state.rule.momenta, expected.momenta)
    assert [layer.dtype for layer in result.update] == [np.float32, np.float16]


@pytest.mark.parametrize("behind", [trimmed_mean, krum(n_malicious=1), rfa], ids=lambda r: r.name)
def test_from_disk_it_has_the_same_bits_as_in_memory(behind, tmp_path, monkeypatch):
    monkeypatch.setattr(momenta, "PIECE", 7)
    rounds = list(half_per_round())
    rounds[0][1][0, :3] = -0.0
    there, state = trained(cached(rule=behind), rounds)
    here, on_disk = trained(cached(rule=behind, folder=str(tmp_path)), rounds)
    assert [update.tobytes() for update in here] == [update.tobytes() for update in there]
    assert on_disk.momenta.shape == (0, 30)
    [folder] = tmp_path.iterdir()
    for client, number, row in zip(ids_in(state.clients), state.last.tolist(), state.momenta, strict=True):
        file = folder / shelf.Shelf(folder).name(client, number)
        assert file.read_bytes() == row.tobytes()


def test_what_lies_on_disk_need_not_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", "2")  # each holds a piece of all momenta
    dim, n_known = 1 << 18, 24
    chosen, state, rng = cached(rule=median, folder=str(tmp_path)), None, np.random.default_rng(0)
    for number in range(n_known // 4):
        sent = rng.normal(size=(4, dim)).astype(np.float32)
        tracemalloc.start()
        result = chosen(sent, clients=range(4 * number, 4 * number + 4), state=state)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        state = result.state
    assert f"the rule sees {n_known} clients, 20 of them" in result.diagnostics.notes[0]
    assert result.diagnostics.notes[0].endswith(f"25.2 MB in {tmp_path}")
    assert peak < n_known * dim * 4 * 0.75


class Killed(BaseException):
    pass


@pytest.mark.parametrize("n_written", [0, 1, 4])
def test_a_round_that_is_killed_between_writes_is_done_again_exactly(n_written, tmp_path, monkeypatch):
    rounds = list(half_per_round())
    straight, _ = trained(cached(rule=median), rounds)
    chosen = cached(rule=median, folder=str(tmp_path))
    before, state = trained(chosen, rounds[:4])
    written, write = [], shelf.Shelf.write

    def killed(self, name, pieces):
        if len(written) == n_written:
            raise Killed
        written.append(name)
        write(self, name, pieces)

    clients, sent = rounds[4]
    with monkeypatch.context() as patched:
        patched.setattr(shelf.Shelf, "write", killed)
        with pytest.raises(Killed):
            chosen(sent + 1, clients=clients, state=state)  # what was half written must not count
    after, _ = trained(chosen, rounds[4:], state=state)
    assert [u.tobytes() for u in [*before, *after]] == [u.tobytes() for u in straight]


def test_a_state_is_resumed_from_a_file_though_the_training_went_on(tmp_path):
    chosen, rounds = cached(rule=median, folder=str(tmp_path / "rows"), kept_rounds=3), list(half_per_round())
    states = []

    def through_a_file(state):
        path = tmp_path / f"{len(states)}.npz"
        write_arrays(path, memory_arrays(chosen, Memory(state)))
        states.append(path)
        return restored_memory(chosen, read_arrays(path)).rule

    def resumed_from(path, left):
        return trained(chosen, left, state=restored_memory(chosen, read_arrays(path)).rule)[0]

    straight, _ = trained(chosen, rounds, through_a_file)
    with pytest.raises(DataError, match=r"which the state refers to, is not there, .* restore the folder"):
        resumed_from(states[2], rounds[3:])
    again = resumed_from(states[4], rounds[5:])
    assert [u.tobytes() for u in again] == [u.tobytes() for u in straight[5:]]


def test_files_that_no_state_needs_are_removed_and_others_are_left_alone(tmp_path):
    chosen = cached(rule=median, folder=str(tmp_path), kept_rounds=2)
    sent, state = np.ones((3, 4), np.float32), None
    for number in range(6):
        if number == 1:
            [folder] = tmp_path.iterdir()
            (folder / "mine.txt").write_text("keep")
        state = chosen(sent, clients=["ann", "bob", number], most_clients=4, state=state).state
    names = {path.name for path in folder.iterdir()} - {"mine.txt"}
    current = {
        shelf.Shelf(folder).name(*known)
        for known in zip(ids_in(state.clients), state.last.tolist(), strict=True)
    }
    assert current < names
    assert len(names) == 4 + 2 * 3  # of two rounds: two momenta replaced, and one client forgotten
    assert (folder / "mine.txt").read_text() == "keep"


def test_a_damaged_file_is_named(tmp_path):
    chosen = cached(rule=median, folder=str(tmp_path))
    state = chosen(np.ones((3, 4)), clients="abc").state
    [folder] = tmp_path.iterdir()
    path = folder / shelf.Shelf(folder).name("a", 1)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(DataError, match=f"{path.name}, which the state refers to, .* not a file of 32 bytes"):
        chosen(np.ones((2, 4)), clients="bc", state=state)


def test_a_file_that_is_cut_while_it_is_read_is_named(tmp_path):
    row = shelf.Shelf(tmp_path).row("x", 4, np.dtype(np.float32))
    (tmp_path / "x").write_bytes(b"12345678")
    with pytest.raises(DataError, match="x, which the state refers to, is too short"):
        row.part(slice(1, 4)).read(0, np.empty(3, np.float32))
    (tmp_path / "x").unlink()
    with pytest.raises(DataError, match="cannot be read: No such file"):
        row.read(0, np.empty(4, np.float32))


def test_trainings_that_share_a_folder_do_not_meet(tmp_path):
    rounds = list(half_per_round(seed=1))
    alone, _ = trained(cached, rounds)
    chosen = cached(folder=str(tmp_path))
    states, got = [None, None], []
    for clients, sent in rounds:
        results = [
            chosen(sign * sent, clients=clients, state=state)
            for sign, state in zip((1, -1), states, strict=True)
        ]
        states = [result.state for result in results]
        got.append(results[0].update)
    assert [u.tobytes() for u in got] == [u.tobytes() for u in alone]


def test_the_rule_gets_the_last_count_of_each_client_and_none_outweighs_the_rest():
    asked = []

    @rule
    def telling(updates, *, weights=None, clients=None):
        asked.append((tuple(clients), None if weights is None else weights.tolist()))
        return Aggregate(np.zeros(2))

    chosen = cached(rule=telling)
    first = chosen(np.ones((4, 2)), clients="abcd", weights=[1, 2, 3, 2])
    second = chosen(np.ones((2, 2)), clients="be", weights=[5, 2], state=first.state)
    chosen(np.ones((1, 2)), clients="a", weights=[1e6], state=second.state)
    chosen(np.ones((1, 2)), clients="a", state=second.state)
    assert asked[0] == (tuple("abcd"), [1, 2, 3, 2])
    assert asked[1] == (tuple("abcde"), [1, 5, 3, 2, 2])
    assert asked[2][1][0] < 12
    assert asked[3][1] is None


def test_a_rule_that_needs_more_clients_waits_until_they_were_seen():
    chosen, state, notes = cached(rule=krum(n_malicious=3), momentum=1.0), None, []
    for clients in ("abc", "de", "f"):
        result = chosen(np.ones((len(clients), 2)), clients=clients, state=state)
        state = result.state
        notes.append(result.diagnostics.notes[0])
        assert result.update.tolist() == ([1, 1] if clients == "f" else [0, 0])
    assert notes[0].startswith(
        "krum: the update is zero until enough clients were seen: krum needs n >= f + 3"
    )
    assert notes[2].startswith("krum: the guarantee needs n > 2f + 2 = 8 clients; this round has 6")


def test_attackers_who_are_the_majority_of_a_round_stay_a_minority():
    rng, state = np.random.default_rng(0), None
    chosen = cached(rule=median, momentum=0.5)
    for number in range(12):
        honest = [f"h{(3 * number + i) % 12}" for i in range(3 if number < 8 else 1)]
        attackers = [] if number < 8 else [f"a{i}" for i in range(4)]
        sent = np.vstack([rng.normal(1.0, 0.1, size=(len(honest), 5)), np.full((len(attackers), 5), -50.0)])
        result = chosen(sent, clients=[*honest, *attackers], state=state)
        state = result.state
    assert (median(sent).update < -40).all()
    assert (result.update > 0.4).all()


def test_fresh_ids_do_not_fill_the_memory_and_the_stalest_go_first():
    state = None
    for number in range(5):
        result = cached(np.ones((2, 3)), clients=["ann", number], most_clients=3, state=state)
        state = result.state
    assert ids_in(state.clients) == ("ann", 3, 4)
    assert state.momenta.shape == (3, 3)
    assert result.diagnostics.notes[-1] == "1 clients who were away longest are forgotten, to remember 3"


def test_rows_that_cannot_be_used_leave_no_trace(tmp_path):
    chosen = cached(rule=median, folder=str(tmp_path))
    rows = np.ones((3, 2))
    rows[1, 0] = np.nan
    with pytest.raises(NonFiniteError, match="row 1"):
        chosen(rows, clients="abc")
    assert not list(tmp_path.iterdir())
    result = defend(rows, chosen, clients=list("abc"))
    assert ids_in(result.state.rule.clients) == ("a", "c")


def test_values_as_large_as_can_be_never_stop_a_later_round():
    state, largest = None, np.finfo(np.float64).max
    for clients in ("abcd", "efgh"):
        sent = np.ones((4, 2))
        sent[0] = largest
        result = cached(sent, rule=rfa, momentum=1.0, clients=clients, state=state)
        state = result.state
    np.testing.assert_allclose(result.update, 1, rtol=1e-3)


def test_clients_are_measured_by_what_they_sent_in_this_round():
    state = cached(np.eye(3), clients="abc").state
    sent = np.array([[3.0, 4.0, 0.0]])
    said = cached(rows_of(sent, explain=True), clients="b", state=state).diagnostics
    assert said.norms.tolist() == [5]
    assert said.clients == (0,)


@pytest.mark.parametrize("behind", [sparsefed, foolsgold, cached], ids=lambda r: r.name)
def test_a_rule_that_keeps_a_state_itself_is_refused(behind):
    with pytest.raises(InputError, match=f"choose a rule that keeps none, not {behind.name}"):
        cached(np.ones((2, 2)), rule=behind)


@pytest.mark.parametrize(
    "wrong", [{"momentum": 0.0}, {"momentum": 1.5}, {"kept_rounds": 0}, {"most_clients": 0}]
)
def test_settings_are_checked(wrong):
    with pytest.raises(InputError):
        cached(np.ones((2, 2)), **wrong)


def test_what_is_no_state_is_refused(tmp_path):
    here = cached(np.ones((2, 2)), clients="ab").state
    there = cached(np.ones((2, 2)), clients="ab", folder=str(tmp_path)).state
    given, folder = {"clients": "ab"}, str(tmp_path)
    for wrong, where, why in [
        ({}, None, "must be what cached returned last round; got dict"),
        (here, folder, "keeps momenta in memory: leave out folder="),
        (there, None, "keeps momenta in files: pass their folder="),
        (replace(here, momenta=here.momenta[:1]), None, "its parts do not fit"),
        (replace(here, momenta=np.full((2, 2), np.inf)), None, "holds NaN"),
        (replace(here, momenta=np.ones((2, 3))), None, "a model with 3 numbers .*; here are 2"),
        (replace(here, momenta=np.ones((2, 2), np.float32)), None, "for updates of float64"),
        (replace(there, training=np.frombuffer(b"../../etc", np.uint8)), folder, "its parts do not fit"),
    ]:
        with pytest.raises(InputError, match=why):
            cached(np.ones((2, 2)), folder=where, state=wrong, **given)
    with pytest.raises(InputError, match="not by position: pass clients="):
        cached(np.ones((2, 2)), state=here)
