"""Crafts, against the worked examples: those are pseudo-gradients, the negative of updates."""

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast import InputError
from holdfast.core import bind
from holdfast.lab.attacks import crafts

GOLDEN = json.loads((Path(__file__).parent.parent.parent / "golden" / "attacks.json").read_text())
EVERY = {
    "adaptive": {},
    "adaptive_oracle": {},
    "adaptive_simulated": {},
    "alie": {"z": 1.0},
    "boost": {"factor": 3.0},
    "boost_together": {"total": 4.0},
    "gaussian": {},
    "inner_product": {},
    "neurotoxin": {},
    "sign_flip": {},
}


def update(gradient):
    return -np.array(gradient, dtype=np.float64)


def rows(n=3, dim=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def test_adaptive_meets_its_golden_case():
    case = GOLDEN["adaptive"]
    got = crafts.adaptive(update([case["g"]]), previous=np.array(case["mask"]))
    np.testing.assert_allclose(got, update([case["expected"]]))
    assert np.linalg.norm(got * case["mask"]) == pytest.approx(np.linalg.norm(case["g"]))


def test_model_replacement_meets_its_golden_case():
    case = GOLDEN["model_replacement"]
    assert case["n_total"] / case["n_adv"] == case["gamma"]
    got = crafts.boost(update([case["g"]]), factor=case["gamma"])
    np.testing.assert_allclose(got, update([case["expected"]]))


@pytest.mark.parametrize("case", GOLDEN["alie"]["table"], ids=lambda case: f"{case['m']} of {case['n']}")
def test_alie_meets_its_golden_table(case):
    assert crafts.alie_shift(case["n"], case["m"]) == pytest.approx(case["z"], abs=5e-9)


def test_alie_goes_no_further_than_all_but_one_honest_client_where_attackers_are_the_majority():
    shifts = [crafts.alie_shift(10 + n_attackers, n_attackers) for n_attackers in (9, 10, 11, 40)]
    assert shifts == [pytest.approx(1.281552)] * 4  # nine of ten
    assert crafts.alie_shift(5, 4) == crafts.alie_shift(2, 1) == 0


@pytest.mark.parametrize("name", ["alie", "inner_product"])
def test_without_honest_clients_an_untargeted_craft_changes_nothing(name):
    own = rows()
    np.testing.assert_array_equal(getattr(crafts, name)(own, benign=own[:0]), own)


def test_alie_meets_its_golden_example():
    case = GOLDEN["alie"]["example"]
    got = crafts.alie(np.zeros((2, 2)), z=case["z"], benign=update(case["benign"]))
    np.testing.assert_allclose(got, update([case["expected"]] * 2))


def test_inner_product_meets_its_golden_case():
    case = GOLDEN["ipm"]
    got = crafts.inner_product(np.zeros((2, 2)), epsilon=case["epsilon"], benign=update(case["benign"]))
    np.testing.assert_allclose(got, update([case["expected"]] * 2))


def test_neurotoxin_meets_its_golden_case():
    case = GOLDEN["neurotoxin"]
    got = crafts.neurotoxin(
        update([case["g"]]), kept=case["mask_ratio"], previous=update(case["reference_grad"])
    )
    np.testing.assert_allclose(got, update([case["expected"]]))


def test_the_oracles_mask_is_that_of_all_rows_with_its_own():
    honest = np.array([[1.0, 1.0, -1.0]] * 2 + [[1.0, -1.0, -1.0]] * 2)
    mine = np.array([[1.0, 2.0, 2.0]])  # 5 of 5 agree on the first, 1 on the second, 3 on the third
    got = crafts.adaptive_oracle(mine, tau=0.6, benign=honest)
    np.testing.assert_allclose(got, [[3 / np.sqrt(5), 2.0, 6 / np.sqrt(5)]])
    strictly = crafts.adaptive_oracle(mine, tau=0.6, strict=True, benign=honest)
    np.testing.assert_allclose(strictly, [[3.0, 2.0, 2.0]])


def test_no_coordinate_is_scaled_beyond_the_cap():
    got = crafts.adaptive(np.array([[0.001, 5.0]]), cap=4.0, previous=np.array([1.0, 0.0]))
    np.testing.assert_allclose(got, [[0.004, 5.0]])


def test_a_mask_that_stops_everything_leaves_the_updates_alone():
    np.testing.assert_array_equal(crafts.adaptive(rows(), previous=np.zeros(6)), rows())


@pytest.mark.parametrize("craft", [crafts.adaptive, crafts.neurotoxin])
def test_in_the_first_round_nothing_is_known_and_nothing_changed(craft):
    np.testing.assert_array_equal(craft(rows()), rows())


def test_attackers_together_are_scaled_by_the_total():
    got = crafts.boost_together(rows(), total=12.0)
    np.testing.assert_allclose(got, 4 * rows(), rtol=1e-6)


def test_noise_has_the_deviation_that_was_set():
    got = crafts.gaussian(np.zeros((4, 5000)), sigma=0.3, rng=np.random.default_rng(0))
    assert got.std() == pytest.approx(0.3, rel=0.02)


def test_every_craft_is_in_the_contract_below():
    assert sorted(EVERY) == sorted({*crafts.__all__} - {"Crafted"})


@pytest.mark.parametrize("name", EVERY)
def test_a_craft_returns_new_rows_of_the_same_form(name):
    sent, honest = rows(), rows(5, seed=1)
    inputs = {"previous": honest[0], "benign": honest, "rehearsal": honest, "rng": np.random.default_rng(0)}
    got = bind(getattr(crafts, name), "craft", **EVERY[name])(sent, **inputs)
    assert (got.shape, got.dtype) == (sent.shape, sent.dtype)
    assert not np.shares_memory(got, sent)
    np.testing.assert_array_equal(sent, rows())


@pytest.mark.parametrize(
    ("name", "wrong", "needed"),
    [
        ("gaussian", {"sigma": np.nan, "rng": None}, "sigma must be a finite number above 0; got nan"),
        ("boost_together", {"total": -1.0}, "total must be a finite number above 0"),
        ("neurotoxin", {"kept": 0.0}, r"kept, the share of coordinates, must be in \(0, 1\]; got 0.0"),
        ("adaptive", {"cap": 0.5, "previous": np.ones(6)}, "cap, .* must be at least 1; got 0.5"),
        ("adaptive_simulated", {"tau": 2.0, "rehearsal": rows()}, "tau, .* must be in"),
    ],
)
def test_bad_settings_say_what_was_needed(name, wrong, needed):
    with pytest.raises(InputError, match=needed):
        getattr(crafts, name)(rows(), **wrong)
