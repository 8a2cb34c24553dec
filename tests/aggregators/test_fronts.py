"""Rules that work in front of another: nnm, bucketing and arc."""

import numpy as np
import pytest

from holdfast import (
    Aggregate,
    centered_clipping,
    defend,
    fedavg,
    fltrust,
    invariant,
    krum,
    median,
    norm_clipping,
    rfa,
    rule,
    sparsefed,
    trimmed_mean,
    weak_dp,
)
from holdfast.aggregators import arc, bucketing, foolsgold, nnm
from holdfast.errors import InputError, NonFiniteError, TooFewClientsError
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

from .. import naive_fronts
from ..rules import RULES, inputs, named

FRONTS = {"nnm": nnm(n_malicious=2), "arc": arc(n_malicious=2), "bucketing": bucketing}
every_front = pytest.mark.parametrize("front", FRONTS.values(), ids=FRONTS)


def some_rows(n=11, dim=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, dim)) * rng.uniform(0.5, 4, size=(n, 1)) + 0.3


def twin(front, rows, behind):
    settings = {name: value for name, value in front.settings if name != "rule"}
    if front.needs("rng"):
        settings["rng"] = np.random.default_rng(7)
    return getattr(naive_fronts, front.name)(rows, **settings, behind=behind)


@every_front
@pytest.mark.parametrize("n", [7, 8, 11])
def test_is_what_the_slow_twin_says(front, n):
    rows = some_rows(n, seed=n)
    for inner in (median, trimmed_mean(alpha=0.3), fedavg, krum(n_malicious=1)):
        got = front(rule=inner)(rows, rng=np.random.default_rng(7)).update
        expected = twin(front, rows, lambda mixed, inner=inner: inner(mixed.astype(np.float64)).update)
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_the_worked_example_of_nnm():
    # n - f = 3 nearest each: 0 1 2, 1 0 2, 2 1 0 (3 is as far as 0: the first), 4 2 1, 20 4 2
    rows = np.array([[0.0], [1.0], [2.0], [4.0], [20.0]])
    result = nnm(rows, n_malicious=2, rule=fedavg)
    np.testing.assert_allclose(result.update, [np.mean([1, 1, 1, 7 / 3, 26 / 3])])
    np.testing.assert_allclose(result.diagnostics.client_weights, np.array([3, 4, 5, 2, 1]) / 15)
    np.testing.assert_allclose(nnm(rows, n_malicious=2, rule=median).update, [1])


def test_the_worked_example_of_bucketing():
    # A permutation of five in pairs; the last bucket holds one.
    order = np.random.default_rng(3).permutation(5)
    rows = np.array([1.0, 2.0, 4.0, 8.0, 16.0])[:, None]
    first, second, last = rows[order[:2]].mean(), rows[order[2:4]].mean(), rows[order[4]].mean()
    result = bucketing(rows, rule=fedavg, rng=np.random.default_rng(3))
    np.testing.assert_allclose(result.update, [(first + second + last) / 3])
    weights = np.where(np.arange(5) == order[4], 1 / 3, 1 / 6)
    np.testing.assert_allclose(result.diagnostics.client_weights, weights)


def test_the_worked_example_of_arc():
    # n = 5, f = 2: floor(2 * 2 * 3 / 5) = 2 are clipped to the third longest, which is 5 long.
    rows = np.array([[3.0, 4.0], [6.0, 8.0], [0.0, 1.0], [-30.0, 40.0], [2.0, 0.0]])
    result = arc(rows, n_malicious=2, rule=fedavg)
    np.testing.assert_allclose(result.update, [(3 + 3 + 0 - 3 + 2) / 5, (4 + 4 + 1 + 4 + 0) / 5])
    np.testing.assert_allclose(result.diagnostics.client_weights, [0.2, 0.1, 0.2, 0.02, 0.2])


@every_front
@pytest.mark.parametrize("inner", [rule for rule in RULES if rule.name not in FRONTS], ids=named)
def test_works_in_front_of_every_rule(front, inner):
    if front.name == "bucketing" and inner.needs("clients"):
        pytest.skip("it knows clients by their ids")
    rows = some_rows(12) if front.name != "bucketing" else some_rows(24)
    given = {**inputs(40), "weights": np.arange(1.0, len(rows) + 1), "clients": tuple(range(len(rows)))}
    result = front(rule=inner)(rows_of(rows, explain=True), **given)
    assert result.update.shape == (40,)
    assert np.isfinite(result.update).all()
    said = result.diagnostics
    assert said.clients == tuple(range(len(rows)))
    np.testing.assert_allclose(said.norms, np.linalg.norm(rows, axis=1))
    if said.client_weights is not None and inner.name not in {"weak_dp", "flame", "sparsefed"}:
        assert said.client_weights.shape == (len(rows),)


@every_front
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_rows_are_never_made_whole_and_threads_change_nothing(front, dtype, monkeypatch):
    rows = rows_of(some_rows(9, CELL + 77).astype(dtype))
    monkeypatch.setattr(type(rows), "__array__", None)
    once = front(rows, rng=np.random.default_rng(0)).update
    monkeypatch.setenv("HOLDFAST_THREADS", "3")
    np.testing.assert_array_equal(front(rows, rng=np.random.default_rng(0)).update, once)


@every_front
def test_rows_that_are_not_finite_are_refused_by_their_own_numbers_all_at_once(front):
    rows = some_rows(9, 2 * CELL)
    rows[2, 5] = np.nan
    rows[7, CELL + 5] = np.inf
    with pytest.raises(NonFiniteError) as caught:
        front(rows, rng=np.random.default_rng(0))
    assert caught.value.rows == (2, 7)
    result = defend(rows, front, rng=np.random.default_rng(0))
    without = defend(np.delete(rows, [2, 7], axis=0), front, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(result.update, without.update)


@every_front
def test_giants_of_as_many_attackers_as_assumed_move_nothing_far(front):
    rows = some_rows(15).astype(np.float32)
    rows[3], rows[8] = 3e38, -3e38
    result = front(rule=median)(rows, rng=np.random.default_rng(0))
    assert np.abs(result.update).max() < 20


def test_clients_who_send_the_same_get_that():
    rows = np.tile(np.float32([1.5, -2.0, 0.0]), (9, 1))
    for front in FRONTS.values():
        np.testing.assert_allclose(front(rows, rng=np.random.default_rng(0)).update, rows[0], rtol=1e-6)


def test_one_stands_in_front_of_the_other():
    rows = some_rows()
    made = arc(n_malicious=2, rule=nnm(n_malicious=2, rule=median))
    assert repr(made) == "arc(n_malicious=2, rule=nnm(n_malicious=2, rule=median()))"
    expected = naive_fronts.arc(rows, 2, lambda cut: naive_fronts.nnm(cut, 2, lambda m: np.median(m, axis=0)))
    np.testing.assert_allclose(made(rows).update, expected.astype(float), rtol=1e-9, atol=1e-12)
    rows[4, 1] = np.nan
    with pytest.raises(NonFiniteError) as caught:
        made(rows)
    assert caught.value.rows == (4,)


def test_sample_counts_stay_with_their_clients_and_are_summed_in_a_bucket():
    @rule
    def told(updates, *, weights=None):
        return Aggregate(np.full(updates.dim, 0.0), state=weights)

    counts = np.array([10.0, 20, 30, 40, 50, 60])
    rows = some_rows(6, 3)
    for front in (nnm(n_malicious=1, rule=told), arc(n_malicious=1, rule=told)):
        np.testing.assert_array_equal(front(rows, weights=counts).state, counts)
    got = bucketing(rows, rule=told, weights=counts, rng=np.random.default_rng(0)).state
    order = np.random.default_rng(0).permutation(6)
    np.testing.assert_allclose(got * counts.sum(), counts[order].reshape(3, 2).sum(axis=1))


def test_what_the_rule_behind_asks_for_reaches_it():
    rows, rng = some_rows(), np.random.default_rng(0)
    made = nnm(n_malicious=2, rule=fltrust)
    assert np.any(made(rows, reference=rows[0]).update)
    with pytest.raises(InputError, match="fltrust needs reference="):
        made(rows)
    assert arc(n_malicious=2, rule=weak_dp)(rows, rng=rng).update.shape == (40,)
    state = defend(rows, nnm(n_malicious=2, rule=sparsefed(kept=0.5)), rng=rng).state
    again = defend(rows, nnm(n_malicious=2, rule=sparsefed(kept=0.5)), state=state)
    assert len(again.state.rule.norms) == 22
    first = defend(rows, arc(n_malicious=2, rule=centered_clipping))
    second = defend(rows, arc(n_malicious=2, rule=centered_clipping), state=first.state)
    assert not np.array_equal(first.update, second.update)


def test_a_rule_of_ones_own_may_stand_behind_and_return_its_update_flat():
    def largest(updates):
        return Aggregate(np.asarray(updates).max(axis=0))

    layers = [[np.full((2, 1), float(i)), np.full(1, -float(i))] for i in range(5)]
    got = nnm(layers, n_malicious=1, rule=largest)
    assert [part.shape for part in got.update] == [(2, 1), (1,)]
    assert got.diagnostics.clients == tuple(range(5))
    with pytest.raises(InputError, match="returned int; a rule returns"):
        nnm(layers, n_malicious=1, rule=len)


def test_clients_are_measured_not_the_sums_that_the_rule_behind_sees():
    rows = rows_of(some_rows(), explain=True)
    said = nnm(rows, n_malicious=2, rule=invariant(tau=0.2)).diagnostics
    assert said.trimmed_share is None
    assert 0 < said.kept_fraction <= 1
    assert said.opposed_share.shape == (11,)
    chosen = nnm(rows, n_malicious=2, rule=krum(n_malicious=2)).diagnostics
    assert chosen.selected.sum() == 9
    np.testing.assert_allclose(chosen.client_weights[chosen.selected], 1 / 9)


@pytest.mark.parametrize(
    ("made", "covered", "tolerates", "note"),
    [
        (nnm(n_malicious=2, rule=trimmed_mean(alpha=0.2)), True, 2, ""),
        (nnm(n_malicious=3, rule=trimmed_mean(alpha=0.2)), False, None, "tolerates 2 malicious rows, fewer"),
        (arc(n_malicious=5, rule=median), False, None, "needs n > 2f = 10 clients; this round has 10"),
        (arc(n_malicious=4, rule=median), True, 4, ""),
        (arc(n_malicious=0, rule=median), True, 0, "nothing is clipped"),
        (nnm(n_malicious=0, rule=rfa), True, 0, "plain averaging"),
        (nnm(n_malicious=1, rule=trimmed_mean(alpha=0.0)), False, None, "trimmed_mean: nothing is trimmed"),
        (bucketing(rule=median), True, 2, ""),
        (nnm(n_malicious=1, rule=norm_clipping), None, None, ""),
    ],
    ids=repr,
)
def test_the_guarantee_is_that_of_the_rule_behind(made, covered, tolerates, note):
    said = made(some_rows(10), rng=np.random.default_rng(0)).diagnostics
    assert (said.covered, said.tolerates) == (covered, tolerates)
    assert any(note in told for told in said.notes) if note else not said.notes


def test_too_few_clients_and_wrong_settings_are_refused():
    for front in (nnm(n_malicious=3), arc(n_malicious=3)):
        with pytest.raises(TooFewClientsError, match=f"{front.name} needs n > f clients.* got n=3, f=3"):
            front(np.ones((3, 2)))
    with pytest.raises(TooFewClientsError, match=r"bucketing needs at least three buckets.* n=6, size=3"):
        bucketing(np.ones((6, 2)), size=3, rng=np.random.default_rng(0))
    with pytest.raises(TooFewClientsError, match="krum needs n >= f"):
        bucketing(np.ones((6, 2)), rule=krum(n_malicious=1), rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="size"):
        bucketing(np.ones((5, 2)), size=0, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="foolsgold knows clients by their ids"):
        bucketing(np.ones((5, 2)), rule=foolsgold, clients="abcde", rng=np.random.default_rng(0))
    with pytest.raises(InputError, match=r"krum needs n_malicious; for example krum\("):
        nnm(np.ones((9, 2)), n_malicious=1, rule=krum)
