"""Properties that make the rules what they are, on random and on hostile rounds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from holdfast import aggregators, fedavg, invariant, krum, median, multi_krum, rfa, sparsefed, trimmed_mean
from holdfast._support.counting import trim_count, votes_needed
from holdfast.updates import rows_of

from .. import naive, naive_filters, naive_fronts, naive_histories, naive_weighted
from ..rules import RULES, call, named

pytestmark = pytest.mark.slow

every_rule = pytest.mark.parametrize("rule", RULES, ids=named)
by_name = {rule.name: rule for rule in RULES}
#: Rules that drop clients by a score, ties by their order.
FILTERS = {"bulyan", "dnc", "multi_metrics", "nnm", "rflbat"}
#: Halves and quarters, with many ties and zeros: what is exact in any order of summation.
coarse = st.integers(-8, 8).map(lambda i: i / 4)
rounds = st.integers(1, 7).flatmap(lambda dim: arrays(np.float64, (9, dim), elements=coarse))
alphas = st.sampled_from([0.0, 0.07, 0.1, 0.2, 0.25, 0.3, 0.45, 0.49])
taus = st.sampled_from([0.0, 1 / 9, 0.2, 1 / 3, 0.5, 0.6, 7 / 9, 1.0])


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.name != "bucketing"], ids=named)  # by lot
@given(updates=rounds, seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_the_order_of_clients_does_not_matter(rule, updates, seed):
    if "krum" in rule.name or rule.name in FILTERS:
        # A tie between clients goes to the lowest index; columns of noise rule ties out.
        updates = np.hstack([updates, np.random.default_rng(5).normal(size=(9, 3))])
    shuffled = np.random.default_rng(seed).permutation(updates)
    np.testing.assert_allclose(call(rule, shuffled).update, call(rule, updates).update, atol=1e-9)


@every_rule
@given(updates=rounds)
@settings(max_examples=30, deadline=None)
def test_turning_all_updates_turns_the_result(rule, updates):
    reference = np.ones(updates.shape[1])
    there, back = (call(rule, s * updates, reference=s * reference).update for s in (1.0, -1.0))
    np.testing.assert_allclose(back, -there, atol=1e-12)


@pytest.mark.parametrize("name", sorted(set(by_name) - {"crfl", "sign_sgd", "weak_dp", "rfa"}))
@given(updates=rounds)
@settings(max_examples=30, deadline=None)
def test_scaling_all_updates_scales_the_result(name, updates):
    reference = np.ones(updates.shape[1])
    once, four = (call(by_name[name], s * updates, reference=s * reference).update for s in (1.0, 4.0))
    np.testing.assert_allclose(four, 4 * once, atol=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "fedavg",
        "median",
        "trimmed_mean",
        "rfa",
        "krum",
        "multi_krum",
        "multi_krum_cosine",
        "krum_trimmed_mean",
        "invariant",
        "and_mask",
        "mean_variance_mask",
        "norm_clipping",
    ],
)
@given(row=arrays(np.float32, 6, elements=st.floats(-(2.0**99), 2.0**99, width=32)))
@settings(max_examples=50, deadline=None)
def test_clients_who_all_send_the_same_get_that_exactly(name, row):
    np.testing.assert_array_equal(call(by_name[name], np.tile(row, (9, 1))).update, row)


@given(updates=rounds, alpha=alphas, tau=taus)
def test_invariant_is_the_trimmed_mean_without_a_mask_and_the_and_mask_without_trimming(updates, alpha, tau):
    np.testing.assert_array_equal(
        invariant(updates, tau=0, alpha=alpha).update, trimmed_mean(updates, alpha=alpha).update
    )
    np.testing.assert_array_equal(
        invariant(updates, tau=tau, alpha=0).update, aggregators.and_mask(updates, tau=tau).update
    )


huge = st.sampled_from([1e38, -1e38, 3.4e38, -3.4e38, 1e30, -1e30, 0.0, 1e-45])


@given(
    benign=arrays(np.float32, (15, 4), elements=st.floats(-10, 10, width=32)),
    sent=arrays(np.float32, (5, 4), elements=st.one_of(huge, st.floats(-20, 20, width=32))),
    seed=st.integers(0, 99),
    tau=taus,
)
def test_as_many_attackers_as_are_trimmed_cannot_leave_the_benign_range(benign, sent, seed, tau):
    updates = np.random.default_rng(seed).permutation(np.vstack([benign, sent]))
    low, high = benign.min(axis=0), benign.max(axis=0)
    for rule in (trimmed_mean(alpha=0.25), median):
        result = rule(updates).update
        assert ((low <= result) & (result <= high)).all()
    result = invariant(updates, tau=tau, alpha=0.25).update
    assert (((low <= result) & (result <= high)) | (result == 0)).all()


@given(
    updates=st.integers(1, 21).flatmap(lambda n: arrays(np.float64, (n, 4), elements=coarse)), alpha=alphas
)
def test_with_tau_in_the_guarantee_every_coordinate_moves_with_the_majority(updates, alpha):
    n = len(updates)
    tau = max(0.0, 1 - 2 * trim_count(alpha, n) / n)
    result = invariant(updates, tau=tau, alpha=alpha).update
    majority = np.sign(np.sign(updates).sum(axis=0))
    assert (np.sign(result) * majority >= 0).all()
    assert ((majority != 0) | (result == 0)).all() or votes_needed(tau, n) == 0


@given(updates=rounds, alpha=alphas, strict=st.booleans())
def test_asking_for_more_agreement_never_frees_a_coordinate(updates, alpha, strict):
    results = [
        invariant(updates, tau=tau, alpha=alpha, strict=strict).update for tau in (0, 0.2, 0.5, 0.6, 1)
    ]
    for looser, stricter in itertools.pairwise(results):
        assert (stricter[looser == 0] == 0).all()


@given(rounds_=st.lists(arrays(np.float64, (4, 6), elements=coarse), min_size=1, max_size=6))
def test_sparsefed_without_momentum_loses_nothing(rounds_):
    state, applied = None, np.zeros(6)
    for updates in rounds_:
        result = sparsefed(updates, kept=0.3, momentum=0.0, max_norm=100.0, state=state)
        state, applied = result.state, applied + result.update
    np.testing.assert_allclose(applied + state.error, sum(u.mean(axis=0) for u in rounds_), atol=1e-12)


@given(updates=rounds, shift=arrays(np.float64, 7, elements=coarse))
def test_moving_all_updates_moves_the_result_where_the_origin_does_not_count(updates, shift):
    shift = shift[: updates.shape[1]]
    updates = updates + np.random.default_rng(5).normal(size=updates.shape)  # no ties between clients
    for rule in (
        fedavg,
        median,
        trimmed_mean,
        krum(n_malicious=2),
        multi_krum(n_malicious=2),
        rfa,
    ):
        np.testing.assert_allclose(rule(updates + shift).update, rule(updates).update + shift, atol=1e-5)


def test_mask_rules_depend_on_the_origin():
    updates = np.array([[1.0], [1.0], [-1.0]])
    assert invariant(updates, tau=0.6).update[0] == 0
    assert invariant(updates + 5, tau=0.6).update[0] != 5


TWINS = {
    "align_ins": lambda u, r: naive_weighted.align_ins(u, 0.5),
    "and_mask": lambda u, r: naive.and_mask(u, 0.3),
    "arc": lambda u, r: naive_fronts.arc(u, 2),
    "bucketing": lambda u, r: naive_fronts.bucketing(u, 2, np.random.default_rng(0)),
    "bulyan": lambda u, r: naive_fronts.bulyan(u, 1),
    "cached": lambda u, r: 0.5 * naive.trimmed_mean(u, 0.25),
    "centered_clipping": lambda u, r: naive.centered_clipping(u, 1.5, 3, r),
    "crfl": lambda u, r: naive_filters.crfl(u, 0.5, weights=range(1, 10)),
    "dnc": lambda u, r: naive_filters.dnc(u, 2),
    "fed_seca": lambda u, r: naive_weighted.fed_seca(u, 0.5),
    "fedavg": lambda u, r: naive.fedavg(u, range(1, 10)),
    "flame": lambda u, r: naive_filters.flame(u),
    "fl_detector": lambda u, r: naive.fedavg(u),
    "fltrust": lambda u, r: naive.fltrust(u, r),
    "foolsgold": lambda u, r: naive_histories.foolsgold(u),
    "invariant": lambda u, r: naive.invariant(u, 0.3, 0.25),
    "krum": lambda u, r: naive.krum(u, 2),
    "krum_trimmed_mean": lambda u, r: naive.krum_trimmed_mean(u, 2, 0.2),
    "mean_variance_mask": lambda u, r: naive.mean_variance_mask(u, 0.3, 0.25),
    "median": lambda u, r: naive.median(u),
    "multi_krum": lambda u, r: naive.multi_krum(u, 2),
    "multi_krum_cosine": lambda u, r: naive.multi_krum_cosine(u, 2),
    "multi_metrics": lambda u, r: naive_filters.multi_metrics(u, 0.3),
    "nnm": lambda u, r: naive_fronts.nnm(u, 2),
    "norm_clipping": lambda u, r: naive.norm_clipping(u),
    "rfa": lambda u, r: naive.rfa(u, 20, 1e-6, range(1, 10)),
    "rflbat": lambda u, r: naive_filters.rflbat(u, np.random.default_rng(0)),
    "rlr": lambda u, r: naive.rlr(u, 3, range(1, 10)),
    "sign_sgd": lambda u, r: naive.sign_sgd(u, 1e-3),
    "sparsefed": lambda u, r: naive.sparsefed(u, 0.4, 0.9, None, np.zeros(len(r)), np.zeros(len(r)))[0],
    "trimmed_mean": lambda u, r: naive.trimmed_mean(u, 0.25),
    "weak_dp": lambda u, r: naive.weak_dp(u, 2.0, range(1, 10)),
    "weighted_invariant": lambda u, r: naive_weighted.weighted_invariant(u, 0.3, 0.25, range(1, 10)),
    "weighted_median": lambda u, r: naive_weighted.weighted_median(u, range(1, 10)),
    "weighted_trimmed_mean": lambda u, r: naive_weighted.weighted_trimmed_mean(u, 0.25, range(1, 10)),
}
#: Settings without a choice of their own on the way, so that the twin takes the same steps.
EXACT = {
    "centered_clipping": aggregators.centered_clipping(radius=1.5),
    "rfa": rfa(n_steps=20, tolerance=0.0),
}


@pytest.mark.parametrize("name", sorted(by_name))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 999), dim=st.integers(1, 40), zeros=st.sampled_from([0.0, 0.4]))
@settings(max_examples=15, deadline=None)
def test_every_rule_agrees_with_its_slow_twin(name, dtype, seed, dim, zeros):
    rng = np.random.default_rng(seed)
    updates = (rng.normal(size=(9, dim)) * (rng.random((9, dim)) >= zeros)).astype(dtype)
    reference = rng.normal(size=dim).astype(dtype)
    rule = EXACT.get(name, by_name[name])
    got = rule(
        rows_of(updates),
        reference=reference,
        previous=reference,
        weights=range(1, 10),
        rng=np.random.default_rng(0),
    ).update
    tolerance = 2e-6 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(got, TWINS[name](updates, reference), atol=tolerance)
