"""Crafts that hide: what is left of the deviation, in whose rows, and how alike these are."""

import numpy as np
import pytest

from holdfast import InputError
from holdfast.core import bind
from holdfast.lab.attacks import hiding
from holdfast.lab.choices import Numbers, build_run
from holdfast.lab.simulation import simulate
from holdfast.runs.checkpoints import load_checkpoint, save_checkpoint

EVERY = {
    "decorrelate": {}, "dilute": {}, "in_turn": {}, "mimic": {}, "ramp": {"until": 4}, "rotate": {},
    "split": {},
}  # fmt: skip
ATTACKERS = np.array([3, 8, 13])


def rows(n=3, dim=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def inputs(n=3, dim=6):
    """Return the inputs that the crafts of this room ask for, in the round after the first."""
    honest = rows(5, dim, seed=1)
    return {"rehearsal": honest[:n], "benign": honest[n:], "attackers": ATTACKERS[:n], "round": 2}


def cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


def test_every_craft_is_in_the_contract_below():
    assert sorted(EVERY) == sorted(hiding.__all__)


@pytest.mark.parametrize("name", EVERY)
def test_a_craft_returns_new_rows_of_the_same_form_and_repeats(name):
    sent, known = rows(), inputs()
    craft = bind(getattr(hiding, name), "craft", **EVERY[name])
    got = craft(sent, **known)
    assert (got.shape, got.dtype) == (sent.shape, sent.dtype)
    assert (got != sent).any()
    np.testing.assert_array_equal(got, craft(sent, **known))
    got[:] = 7
    np.testing.assert_array_equal(sent, rows())
    for key, value in inputs().items():
        np.testing.assert_array_equal(known[key], value)


def test_diluted_updates_lie_between_the_honest_ones_and_the_attack():
    sent, honest = rows(), inputs()["rehearsal"]
    np.testing.assert_array_equal(hiding.dilute(sent, share=0.0, rehearsal=honest), honest)
    np.testing.assert_allclose(hiding.dilute(sent, share=1.0, rehearsal=honest), sent, rtol=1e-5)
    half = hiding.dilute(sent, share=0.5, rehearsal=honest)
    np.testing.assert_allclose(half, (sent + honest) / 2, rtol=1e-5)


def test_a_ramp_rises_evenly_and_stays_up():
    sent, honest = rows(), inputs()["rehearsal"]
    lengths = [
        np.linalg.norm(hiding.ramp(sent, until=3, rehearsal=honest, round=number) - honest)
        for number in (1, 2, 3, 4)
    ]
    np.testing.assert_allclose(lengths / lengths[-1], [1 / 3, 2 / 3, 1, 1], rtol=1e-5)


def test_decorrelated_attackers_differ_and_their_mean_stays():
    shared = np.repeat(rows(1, 4000), 3, axis=0)
    known = {"rehearsal": np.zeros_like(shared), "attackers": ATTACKERS}
    got = hiding.decorrelate(shared, strength=2.0, **known)
    np.testing.assert_allclose(got.mean(axis=0), shared[0], atol=1e-5)
    # Directions of twice the length, less their mean: 1 + 4 (1 - 1/3) long, and 1 - 4/3 in common.
    assert cosine(got[0], got[1]) == pytest.approx((1 - 4 / 3) / (1 + 8 / 3), abs=0.05)
    np.testing.assert_array_equal(hiding.decorrelate(shared, strength=0.0, **known), shared)


def test_an_attacker_keeps_its_direction_whoever_else_is_drawn():
    shared, honest = np.ones((2, 4000)), np.zeros((2, 4000))
    added = [
        hiding.decorrelate(shared, rehearsal=honest, attackers=np.array([3, other]))[0] - 1
        for other in (8, 13)
    ]
    assert cosine(*added) == pytest.approx(0.5, abs=0.05)  # half of each is the other's


def test_a_deviation_twice_as_long_is_hidden_by_twice_as_much():
    honest = rows(2, seed=1)
    once, twice = (
        hiding.decorrelate(honest + scale, rehearsal=honest, attackers=ATTACKERS[:2]) - honest - scale
        for scale in (np.float32(1), np.float32(2))
    )
    np.testing.assert_allclose(twice, 2 * once, atol=1e-5)


def test_a_split_attack_is_honest_outside_its_part_and_whole_in_sum():
    sent, honest = rows(4), rows(4, seed=1)
    got = hiding.split(sent, n_parts=4, rehearsal=honest, attackers=np.array([4, 9, 2, 7]))  # 0, 1, 2, 3
    for row in range(4):
        changed = np.flatnonzero(got[row] != honest[row])
        np.testing.assert_array_equal(changed, range(row, 6, 4))
    same = np.repeat(rows(1), 4, axis=0)
    parts = hiding.split(same, rehearsal=np.zeros_like(same), attackers=np.arange(4))
    np.testing.assert_allclose(parts.mean(axis=0), same[0], rtol=1e-6)
    weak = hiding.split(same, factor=0.5, rehearsal=np.zeros_like(same), attackers=np.arange(4))
    np.testing.assert_allclose(weak, parts / 8, rtol=1e-6)


def test_attackers_who_take_turns_push_once_in_three_rounds_and_are_honest_otherwise():
    sent, honest = rows(), inputs()["rehearsal"]
    pushing = []
    for number in (1, 2, 3, 4):
        got = hiding.in_turn(sent, rehearsal=honest, attackers=ATTACKERS, round=number)
        turn = (got == sent).all(axis=1)
        np.testing.assert_array_equal(got[~turn], honest[~turn])
        pushing.append(ATTACKERS[turn].tolist())
    assert pushing == [[8], [13], [3], [8]]
    everyone = hiding.in_turn(sent, n_turns=1, rehearsal=honest, attackers=ATTACKERS, round=5)
    np.testing.assert_array_equal(everyone, sent)


def test_rotating_attackers_push_together_in_another_quarter_each_round_four_times_as_hard():
    sent, honest = rows(dim=12), rows(dim=12, seed=1)
    pushed = []
    for number in (1, 2, 3, 4, 5):
        got = hiding.rotate(sent, rehearsal=honest, round=number)
        where = (got != honest).all(axis=0)
        assert where.sum() == 3
        np.testing.assert_array_equal(got[:, ~where], honest[:, ~where])
        np.testing.assert_allclose(got[:, where], (honest + 4 * (sent - honest))[:, where], rtol=1e-5)
        pushed.append(np.flatnonzero(where).tolist())
    assert sorted(np.concatenate(pushed[:4])) == list(range(12))
    assert pushed[4] == pushed[0]


def test_the_secret_orders_the_coordinates_and_the_factor_scales_the_push():
    sent, honest = rows(dim=400), np.zeros((3, 400), np.float32)
    first, other = (hiding.rotate(sent, secret=secret, rehearsal=honest, round=1) for secret in (0, 1))
    assert ((first != 0) != (other != 0)).any()
    weak = hiding.rotate(sent, factor=1.0, rehearsal=honest, round=1)
    np.testing.assert_allclose(4 * weak, first, rtol=1e-6)


def test_mimics_send_the_first_honest_row_and_their_deviation():
    honest, victims = rows(3, seed=1), rows(2, seed=2)
    got = hiding.mimic(rows(), rehearsal=honest, benign=victims)
    np.testing.assert_allclose(got - victims[0], rows() - honest, atol=1e-6)
    np.testing.assert_array_equal(hiding.mimic(honest, rehearsal=honest, benign=victims), victims[[0, 0, 0]])


def test_mimics_without_a_victim_send_what_they_have():
    got = hiding.mimic(rows(), rehearsal=rows(seed=1), benign=rows(0))
    np.testing.assert_array_equal(got, rows())


@pytest.mark.parametrize("part", ["in-turn", "rotate", "mask", "on-off"])
def test_a_watched_training_on_digits_under_attackers_who_vary_resumes_to_the_same_bits(part, tmp_path):
    numbers = Numbers(n_rounds=4, n_clients=12, n_per_round=9)
    run = build_run(
        "digits", attack=f"edge-case+{part}", defence="factions+krum_trimmed_mean", numbers=numbers
    )
    run = run.replace(epochs=1)
    whole = list(simulate(run))
    save_checkpoint(tmp_path / "state.npz", run, whole[1][1])
    resumed = list(simulate(run, after=load_checkpoint(tmp_path / "state.npz", run)))
    assert [record.round for record, _ in resumed] == [3, 4]
    np.testing.assert_array_equal(resumed[-1][1].params, whole[-1][1].params)
    assert [record.n_attackers > 0 for record, _ in whole] == [
        part != "on-off" or n % 2 == 1 for n in range(4)
    ]


@pytest.mark.parametrize(
    ("name", "wrong", "needed"),
    [
        ("dilute", {"share": 1.5}, r"share, how much .* must be in \[0, 1\]; got 1.5"),
        ("ramp", {"until": 0}, "until, the round .* must be a whole number of at least 1; got 0"),
        ("decorrelate", {"strength": np.nan}, "strength must be a finite number of at least 0; got nan"),
        ("split", {"n_parts": 0}, "n_parts, .* must be a whole number of at least 1; got 0"),
        ("rotate", {"n_parts": 0}, "n_parts, .* must be a whole number of at least 1; got 0"),
        ("rotate", {"secret": -1}, "secret, .* must be a whole number of at least 0; got -1"),
        ("in_turn", {"n_turns": 0}, "n_turns, .* must be a whole number of at least 1; got 0"),
    ],
)
def test_bad_settings_say_what_was_needed(name, wrong, needed):
    craft = bind(getattr(hiding, name), "craft", **{**EVERY[name], **wrong})
    with pytest.raises(InputError, match=needed):
        craft(rows(), **inputs())
