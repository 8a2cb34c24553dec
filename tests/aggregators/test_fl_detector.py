"""fl_detector: updates that follow from the last ones, and clients whose updates do not."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError, defend
from holdfast._support.arrays import read_arrays, write_arrays
from holdfast._support.ids import ids_in
from holdfast.aggregators import fl_detector
from holdfast.aggregators.predictions import expected_change, residual_norms
from holdfast.updates import rows_of
from holdfast.watching.states import memory_arrays, restored_memory

from .. import naive_histories as naive


class Federation:
    """Clients of quadratic losses with curvatures and minima of their own, who send small steps downhill."""

    def __init__(self, n=10, dim=6, seed=0, noise=0.002):
        self.rng = np.random.default_rng(seed)
        self.curvatures = self.rng.uniform(0.5, 1.5, size=(n, dim))
        self.minima = 3 + self.rng.normal(size=(n, dim))
        self.noise, self.model, self.state = noise, np.zeros(dim), None

    def sent(self):
        steps = 0.1 * self.curvatures * (self.minima - self.model)
        return steps + self.noise * self.rng.normal(size=steps.shape)

    def round(self, sent, clients=None, **settings):
        ids = range(len(sent)) if clients is None else clients
        result = fl_detector(sent, clients=ids, state=self.state, **settings)
        self.model, self.state = self.model + result.update, result.state
        return result


def forged(federation, sent, strength=1.0):
    """Return the round with a last client that sends something else each time."""
    forgery = federation.rng.normal(size=sent.shape[1]) * strength * np.linalg.norm(sent[-1])
    return np.vstack([sent[:-1], forgery])


def test_three_rounds_worked_by_hand():
    state, scores = None, []
    for sent in ([[4.0], [4.0]], [[2.0], [2.0]], [[1.5], [3.0]]):
        state = fl_detector(np.array(sent), clients=["ann", "bob"], window=2, state=state).state
        scores.append(state.scores.tolist())
    # The model moved by 4, which took the update from 4 to 2; it moves by 2, which should take it to 1.
    np.testing.assert_allclose(scores[2], [[1.0, 0.4], [1.0, 1.6]])
    np.testing.assert_array_equal(state.applied, [[4], [2], [2.25]])
    np.testing.assert_array_equal(state.updates, [[1.5], [3.0]])


def test_the_change_of_updates_is_that_of_a_dense_bfgs_matrix():
    federation, applied = Federation(noise=0.0), []
    for _ in range(6):
        applied.append(federation.round(federation.sent()).update)
        expected = naive.curvature(applied, 10) @ applied[-1]
        np.testing.assert_allclose(expected_change(np.array(applied)), expected, rtol=1e-5, atol=1e-12)


def test_without_noise_the_predictions_come_close():
    federation = Federation(noise=0.0)
    for _ in range(8):
        last, before = federation.state, federation.sent()
        federation.round(before)
    change = expected_change(federation.state.applied)
    after = federation.sent()
    assert last is not None
    moved = np.linalg.norm(after - before, axis=1)
    assert (residual_norms(rows_of(after), before, change) < 0.6 * moved).all()


def test_scores_of_clients_who_come_and_go_are_those_of_the_slow_twin():
    federation, rounds, applied = Federation(n=9, noise=0.02), [], []
    for _ in range(9):
        present = federation.rng.choice(9, size=7, replace=False)
        sent = federation.sent()[present]
        result = federation.round(sent, [f"c{i}" for i in present], window=4)
        rounds.append(dict(zip([f"c{i}" for i in present], sent, strict=True)))
        applied.append(result.update)
    expected = naive.fl_detector_scores(rounds, applied, 4)
    got = dict(zip(ids_in(federation.state.clients), federation.state.scores, strict=True))
    assert len(expected) >= 7
    for client, own in expected.items():
        told = got[client][~np.isnan(got[client])]
        np.testing.assert_allclose(told, own, rtol=1e-6)
    assert "were not in the last round, and are not scored in this one" in " ".join(result.diagnostics.notes)


def test_a_client_that_does_not_follow_from_itself_is_dropped_and_stays_so():
    federation = Federation()
    says = [federation.round(forged(federation, federation.sent())).diagnostics for _ in range(18)]
    assert all(said.selected.all() for said in says[:10])
    assert "nobody is judged yet, this is the mean of all: scores of 9 of 10 rounds" in says[9].notes
    for said in says[10:]:
        assert said.selected.tolist() == [True] * 9 + [False]
        assert said.client_weights[-1] == 0
        assert "1 clients have no say" in said.notes[0]
    np.testing.assert_allclose(says[-1].client_weights[:-1], 1 / 9)


def test_whoever_becomes_consistent_has_a_say_again():
    federation = Federation()
    for _ in range(12):
        federation.round(forged(federation, federation.sent()))
    says = [federation.round(federation.sent()).diagnostics.selected[-1] for _ in range(14)]
    assert not says[0]
    assert says[-1]


@pytest.mark.parametrize("seed", range(4))
def test_without_an_attacker_nobody_is_dropped(seed):
    federation = Federation(n=12, seed=seed, noise=0.2)
    for _ in range(14):
        said = federation.round(federation.sent()).diagnostics
        assert said.selected.all()


def test_a_poisoner_who_is_consistent_is_not_found():
    federation = Federation()
    for _ in range(14):
        sent = federation.sent()
        sent[-1] += 5.0  # the same push in each round
        said = federation.round(sent).diagnostics
    assert said.selected[-1]


def test_a_newcomer_is_averaged_though_it_cannot_be_judged():
    federation = Federation()
    for _ in range(12):
        federation.round(forged(federation, federation.sent()))
    sent = federation.sent()
    result = federation.round(sent, [*range(9), "new"])
    assert result.diagnostics.selected.all()
    assert "1 of 10 clients were not in the last round" in result.diagnostics.notes[0]


def test_a_round_of_new_clients_is_scored_by_nobody():
    federation = Federation()
    for number in range(4):
        federation.round(federation.sent(), [f"{number}.{i}" for i in range(10)], most_clients=25)
    assert int(federation.state.n_scored) == 0
    assert len(ids_in(federation.state.clients)) == 25
    assert np.isnan(federation.state.scores).all()


def test_hostile_rows_do_not_break_what_comes_after_them():
    state = None
    for value in (3e38, 0.0, -3e38, 1e-45, 3e38, 0.0):
        sent = np.ones((4, 3), dtype=np.float32)
        sent[3] = value
        result = fl_detector(sent, clients=range(4), window=2, state=state)
        state = result.state
        assert np.isfinite(result.update).all()
        assert not np.isinf(state.scores).any()
    assert not result.diagnostics.selected[3]


def test_models_of_layers_are_followed_through_files(tmp_path):
    base = {"w": np.zeros((2, 2), np.float32), "b": np.zeros(3, np.float16)}

    def trained(passed_on):
        rng, state, updates = np.random.default_rng(0), None, []
        for _ in range(5):
            sent = {
                f"c{i}": {"w": rng.normal(size=(2, 2)).astype("f4"), "b": rng.normal(size=3).astype("f2")}
                for i in range(5)
            }
            result = defend(sent, fl_detector(window=2), base=base, state=state)
            state = passed_on(result.state)
            updates.append([layer.tobytes() for layer in result.update.values()])
        return updates

    def through_a_file(memory):
        write_arrays(tmp_path / "state.npz", memory_arrays(fl_detector, memory))
        return restored_memory(fl_detector, read_arrays(tmp_path / "state.npz"))

    assert trained(through_a_file) == trained(lambda memory: memory)


def test_what_is_no_state_is_refused():
    state = fl_detector(np.eye(3), clients="abc").state
    for wrong, why in [
        ({}, "must be what fl_detector returned last round; got dict"),
        (replace(state, scores=np.zeros((3, 4))), "with window=10: its parts do not fit"),
        (replace(state, updates=np.eye(3)[:2]), "its parts do not fit"),
        (replace(state, updates=np.ones((3, 2))), "a model with 2 numbers .*; here are 3"),
        (replace(state, applied=np.full((1, 3), np.nan)), "holds NaN"),
        (replace(state, applied=np.zeros((0, 3))), "its parts do not fit"),
    ]:
        with pytest.raises(InputError, match=why):
            fl_detector(np.eye(3), clients="abc", state=wrong)


@pytest.mark.parametrize("wrong", [{"window": 0}, {"most_clients": 0}])
def test_settings_are_checked(wrong):
    with pytest.raises(InputError):
        fl_detector(np.eye(3), **wrong)
