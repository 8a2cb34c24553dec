"""foolsgold: histories by client id, against a slow twin and in a small federation with copies in it."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError, defend
from holdfast._support.arrays import read_arrays, write_arrays
from holdfast._support.ids import ids_in
from holdfast.aggregators import foolsgold
from holdfast.watching.states import memory_arrays, restored_memory

from .. import naive_histories as naive


def rounds_of_clients(n_rounds=6, n=12, n_present=7, dim=20, seed=0):
    """Yield rounds of clients who come and go: their ids, some numbers, some text, and what they send."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(n, dim))
    ids = [i if i % 2 else f"c{i}" for i in range(n)]
    for _ in range(n_rounds):
        present = rng.choice(n, size=n_present, replace=False)
        yield [ids[i] for i in present], own[present] + rng.normal(size=(n_present, dim))


def clones_among_honest(seed=0, n_honest=8, n_clones=3, dim=300):
    """Yield what clients send: noise around a slow common direction, and the same push by all clones."""
    rng = np.random.default_rng(seed)
    common, push = rng.normal(size=(2, dim))
    own = rng.normal(size=(n_honest, dim))
    while True:
        honest = 0.1 * common + 0.3 * own + rng.normal(size=(n_honest, dim))
        clones = 0.5 * push + rng.normal(size=(n_clones, dim))
        yield 0.01 * np.vstack([honest, clones])


def test_clients_who_come_and_go_get_what_the_slow_twin_gives_them():
    state, memory = None, {}
    for clients, sent in rounds_of_clients():
        result = foolsgold(sent, confidence=0.7, clients=clients, state=state)
        expected = naive.foolsgold(sent, 0.7, clients, memory)
        np.testing.assert_allclose(result.update, expected.astype(float), atol=1e-12)
        state = result.state
    assert ids_in(state.clients) == tuple(memory)
    np.testing.assert_allclose(state.history, np.array(list(memory.values()), float), atol=1e-12)


def test_copies_hidden_in_noise_lose_their_say_over_the_rounds():
    state, says = None, []
    for _, sent in zip(range(30), clones_among_honest(), strict=False):
        result = foolsgold(sent, clients=range(11), state=state)
        state = result.state
        says.append(result.diagnostics.client_weights)
    assert says[0][8:].sum() > 0.2  # in one round, noise hides what they share
    assert says[-1][8:].sum() < 0.02
    assert (says[-1][:8] > 0.1).all()
    assert not result.diagnostics.selected[8:].any()


def test_a_copy_is_known_though_the_others_are_not_here():
    state = None
    for _, sent in zip(range(30), clones_among_honest(), strict=False):
        state = foolsgold(sent, clients=range(11), state=state).state
    alone = [*range(8), 10]
    assert foolsgold(sent[alone], clients=alone, state=state).diagnostics.client_weights[-1] < 0.02


def test_memory_goes_by_id_and_not_by_position():
    sent = np.eye(4)
    first = foolsgold(sent, clients="abcd").state
    second = foolsgold(sent[[1, 0]], clients="ba", state=first).state
    np.testing.assert_array_equal(second.history, np.diag([2.0, 2.0, 1.0, 1.0]))
    with pytest.raises(InputError, match="by their ids, not by position: pass clients= each round"):
        foolsgold(sent, state=first)


def test_where_all_are_copies_nobody_has_a_say_and_it_is_said():
    result = foolsgold(np.tile([0.3, 0.1, 0.7], (5, 1)))
    assert not result.update.any()
    assert "nobody has a say" in result.diagnostics.notes[0]


def test_no_update_counts_as_longer_than_one_in_a_history():
    rows = np.array([[3e38, 0.0], [0.0, 0.5]], dtype=np.float32)
    np.testing.assert_array_equal(foolsgold(rows).state.history, [[1, 0], [0, 0.5]])


def test_large_models_are_remembered_on_a_secret_sample():
    rng = np.random.default_rng(1)
    sent = rng.normal(size=(5, 4096))
    sent[4] = sent[3] + 0.01 * rng.normal(size=4096)
    first, other = (
        foolsgold(sent, sample=512, rng=np.random.default_rng(seed), clients=range(5)) for seed in (0, 1)
    )
    assert first.state.history.shape == (5, 512)
    assert (first.state.history != other.state.history).any()
    assert first.diagnostics.client_weights[3:].tolist() == [0, 0]
    assert "on 512 of 4096 coordinates take 20.5 kB" in first.diagnostics.notes[0]
    again = foolsgold(sent, sample=512, clients=range(5), state=first.state)
    np.testing.assert_allclose(again.state.history, 2 * first.state.history)


def test_fresh_ids_do_not_fill_the_memory():
    state = None
    for number in range(6):
        result = foolsgold(np.eye(3), clients=["ann", "bob", number], most_clients=4, state=state)
        state = result.state
    assert ids_in(state.clients) == ("ann", "bob", 4, 5)
    np.testing.assert_array_equal(state.history[:2], np.diag([6.0, 6.0, 0.0])[:2])
    assert "1 clients who were away longest are forgotten" in result.diagnostics.notes[0]


def test_a_state_comes_back_from_a_file_without_pickle(tmp_path):
    def trained(passed_on):
        state, models = None, []
        for clients, sent in rounds_of_clients():
            result = defend(sent.astype(np.float32), foolsgold, clients=clients, state=state)
            state = passed_on(result.state)
            models.append(result.update.tobytes())
        return models

    def through_a_file(memory):
        write_arrays(tmp_path / "state.npz", memory_arrays(foolsgold, memory))
        return restored_memory(foolsgold, read_arrays(tmp_path / "state.npz"))

    assert trained(through_a_file) == trained(lambda memory: memory)


def test_what_is_no_state_is_refused():
    state = foolsgold(np.eye(3), clients="abc").state
    for wrong, why in [
        ({}, "must be what foolsgold returned last round; got dict"),
        (replace(state, history=state.history[:2]), "its parts do not fit"),
        (replace(state, history=np.full((3, 3), np.nan)), "holds NaN"),
        (replace(state, history=np.ones((3, 2))), "a model with 2 numbers .*; here are 3"),
        (replace(state, clients=np.frombuffer(b"{}", np.uint8)), "it has no ids"),
        (replace(state, last=state.last[:1]), "its parts do not fit"),
    ]:
        with pytest.raises(InputError, match=why):
            foolsgold(np.eye(3), clients="abc", state=wrong)


@pytest.mark.parametrize("wrong", [{"confidence": 0.0}, {"sample": 0}, {"most_clients": 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(InputError):
        foolsgold(np.eye(3), **wrong)


@pytest.mark.parametrize("clients", ["ab", "aab", range(4)])
def test_every_row_needs_an_id_of_its_own(clients):
    with pytest.raises(InputError, match="3 different ids, one per row"):
        foolsgold(np.eye(3), clients=clients)
