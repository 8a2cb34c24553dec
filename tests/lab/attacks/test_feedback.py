"""3DFed: what its indicators tell under each kind of rule, and what the attackers make of it."""

import numpy as np
import pytest

from holdfast import InputError, defend, fedavg, median, multi_krum, norm_clipping, trimmed_mean
from holdfast.core import bind
from holdfast.lab.attacks import Reading, three_d_fed

DIM, N_HONEST, N_BAD = 400, 8, 3
LAYERS = (("a.weight", slice(0, 300)), ("b.weight", slice(300, 390)), ("b.bias", slice(390, DIM)))
SIZES = np.where(np.arange(DIM) % 20 == 0, 1e-4, 1.0)  # every twentieth coordinate hardly moves
PUSH = np.random.default_rng(9).normal(size=DIM) * SIZES


def honest(rng, n):
    return rng.normal(size=(n, DIM)) * SIZES


def training(rule, *, push=1.0, n_rounds=6, attend=lambda number: True, **settings):
    """Return what the craft made in each round that it is in, and the leak of the push in each."""
    craft, params = bind(three_d_fed, "craft", **settings), np.zeros(DIM)
    state, previous, made, leaks = None, None, [], []
    for number in range(n_rounds):
        rng = np.random.default_rng(number)
        rows, rehearsal = honest(rng, N_HONEST), honest(rng, N_BAD)
        sent = rehearsal + push * PUSH
        if attend(number):
            known = {"params": params, "previous": previous, "state": state, "layers": LAYERS, "rng": rng}
            made.append(craft(sent, rehearsal=rehearsal, **known))
            sent, state = made[-1]
        previous = defend(np.vstack([rows, sent]), rule).update
        leaks.append((previous - rows.mean(axis=0)) @ PUSH / (PUSH @ PUSH))
        params = params + previous
    return made, leaks


def readings(made):
    return [one.state["readings"].tolist() for one in made]


def strengths(made):
    return [float(one.state["strength"]) for one in made]


def test_under_plain_averaging_the_indicators_say_accepted_and_the_attack_grows():
    made, _ = training(fedavg)
    assert readings(made) == [[], *[[Reading.ACCEPTED] * N_BAD] * 5]
    assert strengths(made) == pytest.approx([1.25**number for number in range(6)])


@pytest.mark.parametrize("rule", [trimmed_mean(alpha=0.3), median])
def test_trimming_coordinates_blinds_the_indicators_though_the_attack_is_in(rule):
    made, leaks = training(rule, n_rounds=2)
    assert readings(made)[1] == [Reading.NOTHING] * N_BAD
    assert leaks[0] > 0.1
    assert strengths(made)[1] < 1
    assert int(made[1].state["n_decoys"]) == 1


def test_a_rule_that_selects_others_leaves_no_trace():
    made, leaks = training(multi_krum(n_malicious=N_BAD), push=4.0, n_rounds=4)
    assert abs(leaks[0]) < 0.1
    assert readings(made)[1] == [Reading.NOTHING] * N_BAD
    assert strengths(made) == sorted(strengths(made), reverse=True)
    assert [int(one.state["n_decoys"]) for one in made] == [0, 1, 2, 2]


def test_rows_that_are_cut_the_more_the_stronger_they_are_read_as_clipped():
    made, _ = training(norm_clipping, push=3.0, n_rounds=8)
    seen = np.concatenate([one.state["readings"] for one in made])
    assert Reading.CLIPPED in seen
    assert Reading.NOTHING not in seen
    assert strengths(made)[-1] < 1.25**7


def test_noise_in_the_model_reads_as_noise_and_changes_nothing():
    made, _ = training(fedavg, n_rounds=1)
    shaken = np.full(DIM, -1.0)
    known = {"params": shaken, "layers": LAYERS, "state": made[0].state, "rng": np.random.default_rng(1)}
    again = three_d_fed(honest(np.random.default_rng(2), 3), rehearsal=np.zeros((3, DIM)), **known)
    assert readings([again]) == [[Reading.NOISE] * N_BAD]
    assert strengths([again]) == [1.0]


def test_the_indicators_are_read_after_rounds_without_attackers_too():
    made, _ = training(fedavg, attend=lambda number: number % 3 == 0)
    assert readings(made) == [[], [Reading.ACCEPTED] * N_BAD]


def test_the_noise_cancels_out_and_lies_in_the_last_layer():
    rng = np.random.default_rng(0)
    rehearsal = honest(rng, N_BAD)
    made = three_d_fed(rehearsal + PUSH, params=np.zeros(DIM), layers=LAYERS, rehearsal=rehearsal, rng=rng)
    added = made.updates - rehearsal - PUSH
    places = made.state["places"]
    assert len(set(places.tolist())) == N_BAD
    assert (places % 20 == 0).all()  # where hardly anything moves
    added[np.arange(N_BAD), places] = 0
    np.testing.assert_allclose(added[:, :300], 0, atol=1e-12)
    assert np.abs(added[:, 300:]).max() > 0.1
    np.testing.assert_allclose(np.delete(added, places, axis=1).sum(axis=0), 0, atol=1e-12)
    quiet = three_d_fed(
        rehearsal + PUSH, noise=0.0, params=np.zeros(DIM), layers=LAYERS, rehearsal=rehearsal, rng=rng
    ).updates
    np.testing.assert_allclose(np.delete(quiet - rehearsal - PUSH, places, axis=1), 0, atol=1e-12)


def test_decoys_are_honest_but_for_a_spike_and_one_attacker_remains():
    made, _ = training(multi_krum(n_malicious=N_BAD), push=4.0, n_rounds=6)
    kept = made[-1].state
    assert kept["is_decoy"].tolist() == [False, True, True]
    rng = np.random.default_rng(5)
    rehearsal = [honest(rng, N_HONEST), honest(rng, N_BAD)][1]
    for row in (1, 2):
        (changed,) = np.flatnonzero(made[-1].updates[row] != rehearsal[row])
        assert made[-1].updates[row, changed] == pytest.approx(np.linalg.norm(rehearsal[row]))


def test_decoys_that_are_accepted_attack_again():
    made, _ = training(multi_krum(n_malicious=N_BAD), push=4.0, n_rounds=3)
    kept = made[-1].state
    moved = np.zeros(DIM)
    moved[kept["places"]] = np.where(kept["is_decoy"], kept["values"] / 11, 0)
    params = moved.copy()
    params[kept["places"]] += kept["before"]
    known = {"params": params, "layers": LAYERS, "state": kept, "rng": np.random.default_rng(1)}
    again = three_d_fed(honest(np.random.default_rng(2), 3), rehearsal=np.zeros((3, DIM)), **known)
    assert (int(kept["n_decoys"]), int(again.state["n_decoys"])) == (2, 0)


def test_bad_noise_says_what_was_needed():
    with pytest.raises(InputError, match="noise must be a finite number of at least 0; got -1"):
        training(fedavg, noise=-1.0)
