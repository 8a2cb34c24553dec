"""The worked examples of the papers' rules. They are written as pseudo-gradients: the negative of updates."""

import json
from pathlib import Path

import numpy as np
import pytest

from holdfast import aggregators, kernels
from holdfast._support.counting import trim_count, votes_needed
from holdfast.aggregators.geometry import cosines, squared_distances
from holdfast.aggregators.krum import crowd_scores
from holdfast.aggregators.sparsefed import SparseFedState
from holdfast.lab.inference import confident, most_likely
from holdfast.lab.training.triggers import stamp
from holdfast.updates.rows import rows_of

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "aggregators.json").read_text())
CASES = [case for case in GOLDEN["cases"] if case["aggregator"] != "flip"]
FLIP = {
    case["id"]: case for case in GOLDEN["cases"] if case["aggregator"] == "flip"
}  # which is no server rule

RULE_OF = {"mean": "fedavg", "multi_krum_c": "multi_krum_cosine", "mean_variance_ratio": "mean_variance_mask"}
SETTING_OF = {
    "f": "n_malicious",
    "m": "n_selected",
    "theta": "threshold",
    "clip": "max_norm",
    "iters": "n_steps",
    "nu": "smoothing",
    "ftol": "tolerance",
    "rho": "momentum",
}


def call(case, monkeypatch):
    rule = getattr(aggregators, RULE_OF.get(case["aggregator"], case["aggregator"]))
    settings = {SETTING_OF.get(name, name): value for name, value in case["params"].items()}
    updates = -np.array(case["G"], dtype=np.float64)
    if "n" in case:
        settings["weights"] = case["n"]
    if "root_update" in settings:
        settings["reference"] = -np.array(settings.pop("root_update"), dtype=np.float64)
    if case["aggregator"] == "weak_dp":
        noise = -np.array(settings.pop("noise"))
        monkeypatch.setattr(kernels, "noise", lambda *_, **__: noise)
        settings["rng"] = np.random.default_rng(0)
    if case["aggregator"] == "sparsefed":
        settings["kept"] = settings.pop("k") / updates.shape[1]
        state = {name: -np.array(values, dtype=np.float64) for name, values in case["state_in"].items()}
        settings["state"] = SparseFedState(state["V"], state["E"], np.zeros(0))
    settings.pop("kind", None)
    return rule(updates, **settings)


def assert_golden(got, expected, tolerance):
    expected = np.array(expected, dtype=np.float64)
    assert (np.abs(got - expected) <= tolerance * np.maximum(1, np.abs(expected))).all()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_rule_gives_the_worked_result(case, monkeypatch):
    assert_golden(-call(case, monkeypatch).update, case["expected"], case["tol"])


@pytest.mark.parametrize(
    "case", [c for c in CASES if "scores" in c.get("expected_extra", {})], ids=lambda c: c["id"]
)
def test_krum_scores_and_choices_are_the_worked_ones(case, monkeypatch):
    rows = rows_of(np.array(case["G"], dtype=np.float64))
    by_angle = case["aggregator"] == "multi_krum_c"
    distances = (lambda gram, part: 1 - cosines(gram, part)) if by_angle else squared_distances
    scores = crowd_scores("krum", rows, case["params"]["f"], distances)
    assert_golden(scores, case["expected_extra"]["scores"], 1e-12)
    chosen = np.flatnonzero(call(case, monkeypatch).diagnostics.client_weights)
    assert chosen.tolist() == np.atleast_1d(case["expected_extra"]["selected"]).tolist()


@pytest.mark.parametrize(
    "case", [c for c in CASES if "mask" in c.get("expected_extra", {})], ids=lambda c: c["id"]
)
def test_masks_keep_the_worked_share(case, monkeypatch):
    kept = call(case, monkeypatch).diagnostics.kept_fraction
    assert kept == np.mean(case["expected_extra"]["mask"])


@pytest.mark.parametrize("case", [c for c in CASES if c["aggregator"] == "sparsefed"], ids=lambda c: c["id"])
def test_sparsefed_leaves_the_worked_state(case, monkeypatch):
    state = call(case, monkeypatch).state
    assert_golden(-state.momentum, case["expected_extra"]["V_out"], 1e-12)
    assert_golden(-state.error, case["expected_extra"]["E_out"], 1e-12)


@pytest.mark.parametrize("case", [c for c in CASES if c["aggregator"] == "fltrust"], ids=lambda c: c["id"])
def test_fltrust_trusts_as_worked(case, monkeypatch):
    weights = call(case, monkeypatch).diagnostics.client_weights
    trust = np.array(case["expected_extra"]["trust"])
    length = np.linalg.norm(case["params"]["root_update"])
    norms = np.linalg.norm(case["G"], axis=1)
    assert_golden(weights * norms * trust.sum() / length, trust, 1e-9)


def test_flip_has_these_worked_cases():
    assert {case["op"] for case in FLIP.values()} == {"stamp", "accuracy_with_rejection"}
    assert len(FLIP) == 2


@pytest.mark.parametrize("case", [c for c in FLIP.values() if c["op"] == "stamp"], ids=lambda c: c["id"])
def test_flip_stamps_as_worked(case):
    x, mask, pattern = (np.array(a) for a in (case["x"], case["params"]["mask"], case["params"]["pattern"]))
    assert_golden(stamp(x, mask, pattern), case["expected"], case["tol"])


@pytest.mark.parametrize("case", [c for c in FLIP.values() if c["op"] != "stamp"], ids=lambda c: c["id"])
def test_flip_declines_as_worked(case):
    scores, labels = np.array(case["logits"]), np.array(case["labels"])
    answers = confident(scores, threshold=case["params"]["confidence_threshold"])
    assert_golden((answers == labels).mean(), case["expected"], case["tol"])
    assert most_likely(scores).tolist() == case["expected_extra"]["pred"]
    for probability, row in zip(case["expected_extra"]["confidence"], scores, strict=True):
        for threshold, declines in ((probability - 1e-9, False), (probability + 1e-9, True)):
            assert (confident(row[None], threshold=threshold) == -1) == declines


@pytest.mark.parametrize("row", GOLDEN["sign_count_table"], ids=lambda row: f"N={row['N']} tau={row['tau']}")
def test_the_published_settings_need_the_worked_majorities(row):
    n = row["N"]
    for strict, key in ((False, "min_majority_ge"), (True, "min_majority_gt")):
        votes = votes_needed(row["tau"], n, strict=strict)
        majority = next(m for m in range(n + 1) if m - (n - m) >= votes)
        assert majority == row[key]
    assert trim_count(0.25, n) == row["trim_each_side"]


@pytest.mark.parametrize("row", GOLDEN["trim_count_table"], ids=lambda row: f"{row['alpha']}*{row['N']}")
def test_trim_counts_survive_floating_point(row):
    alpha = np.float32(0.1) if row["alpha"] == "float32(0.1)" else row["alpha"]
    assert trim_count(alpha, row["N"]) == row["k"]


@pytest.mark.parametrize(
    ("tau", "n", "votes"), [(0.7, 10, 7), (0.35, 20, 7), (0.9, 20, 18), (1 - 2 * 0.35, 20, 6)]
)
def test_vote_counts_survive_floating_point(tau, n, votes):
    assert votes_needed(tau, n) == votes
    assert votes_needed(np.float32(tau), n) == votes
