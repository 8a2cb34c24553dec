import json
import logging

import numpy as np
import pytest

from holdfast import (
    Aggregate,
    InputError,
    defend,
    factions,
    fedavg,
    flame,
    fltrust,
    invariant,
    krum,
    median,
    rfa,
    rlr,
    screen,
    sparsefed,
    trimmed_mean,
    weak_dp,
)
from holdfast.aggregators import cached
from holdfast.aggregators.sparsefed import SparseFedState
from holdfast.core import Memory, bind
from holdfast.defending.rehearsing import rehearse
from holdfast.updates import rows_of
from holdfast.updates.counts import MAX_EXAMPLES

from .rules import RULES, inputs, named

every_rule = pytest.mark.parametrize("rule", RULES, ids=named)


class Bomb:
    """An object that fails however it is touched."""

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("boom")


def with_value(value):
    row = np.ones(6)
    row[2] = value
    return row


#: What a stranger may send in place of six float64 numbers, and what the server says of it.
HOSTILE = {
    "nan": (with_value(np.nan), "NaN, infinite"),
    "inf": (with_value(np.inf), "NaN, infinite"),
    "minus inf": (with_value(-np.inf), "NaN, infinite"),
    "too short": (np.ones(5), "wrong shape"),
    "too long": (np.ones(7), "wrong shape"),
    "a column": (np.ones((6, 1)), "wrong shape"),
    "empty": (np.ones(0), "wrong shape"),
    "a scalar": (np.float64(3.0), "wrong shape"),
    "layers": ([np.ones(3), np.ones(3)], "wrong form"),
    "no layers": ([], "wrong form"),
    "whole numbers": (np.ones(6, dtype=np.int64), "wrong type"),
    "booleans": (np.ones(6, dtype=bool), "wrong type"),
    "complex": (np.ones(6, dtype=complex), "wrong type"),
    "text": (np.array(list("abcdef")), "wrong type"),
    "objects": (np.array([None] * 6), "wrong type"),
    "long doubles": (np.ones(6, dtype=np.longdouble), "wrong type"),
    "records": (np.zeros(6, dtype=[("x", "f4")]), "wrong type"),
    "nothing": (None, "neither an array"),
    "a string": ("update", "neither an array"),
    "a dict": ({"w": np.ones(6)}, "wrong form"),
    "a bomb": (Bomb(), "cannot be read"),
    "a layer of bombs": ([Bomb()], "wrong form"),
}


def honest(n=8):
    return list(np.random.default_rng(0).normal(size=(n, 6)) + 0.3)


@every_rule
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_row_is_dropped_by_name_and_changes_nothing(rule, kind):
    sent, reason = HOSTILE[kind]
    given = inputs(6)
    rows = honest()
    result = defend(
        [*rows[:3], sent, *rows[3:]],
        rule,
        like=np.zeros(6),
        clients=[f"node-{i}" for i in range(9)],
        **given,
    )
    (drop,) = result.diagnostics.dropped
    assert drop.client == "node-3"
    assert reason in drop.reason
    assert "node-3" not in result.diagnostics.clients
    clean = rule(np.array(rows), **inputs(6))
    np.testing.assert_array_equal(result.update, clean.update)


@every_rule
def test_a_row_that_overflows_the_servers_type_is_dropped(rule):
    rows = [row.astype(np.float32) for row in honest()]
    given = inputs(6, np.float32)
    result = defend([*rows, np.full(6, 1e300)], rule, like=np.zeros(6, dtype=np.float32), **given)
    assert [drop.client for drop in result.diagnostics.dropped] == [8]
    np.testing.assert_array_equal(result.update, rule(np.array(rows), **inputs(6, np.float32)).update)


@every_rule
def test_finite_but_huge_rows_never_make_a_result_that_is_not_finite(rule):
    rows = [row.astype(np.float32) for row in honest(5)]
    huge = np.full(6, 3.4e38, dtype=np.float32)
    result = defend([*rows, huge, -huge, huge, -huge], rule, like=rows[0], **inputs(6, np.float32))
    assert result.diagnostics.aggregated
    assert np.isfinite(result.update).all()
    json.dumps(result.diagnostics.as_dict(), allow_nan=False)


@every_rule
@pytest.mark.parametrize("size", [5e153, 1e200])
def test_huge_doubles_never_stop_a_round_nor_its_explanation(rule, size):
    result = defend(np.array([*honest(), np.full(6, size)]), rule, explain=True, **inputs(6))
    assert result.diagnostics.aggregated
    assert np.isfinite(result.update).all()
    json.dumps(result.diagnostics.as_dict(), allow_nan=False)


def test_doubles_whose_length_overflows_are_dropped_where_lengths_count():
    result = defend(np.array([*honest(), np.full(6, 1e200)]), krum_of(2))
    assert "length overflows" in result.diagnostics.dropped[0].reason


def krum_of(n_malicious):
    return krum(n_malicious=n_malicious)


@pytest.mark.parametrize(
    "count", [-1, np.nan, np.inf, MAX_EXAMPLES + 1, 10**400, "many", None, [3], 1j, np.float32(-0.5)]
)
def test_an_impossible_sample_count_drops_its_client(count):
    rows = honest()
    result = defend([*rows, rows[0]], fedavg, like=np.zeros(6), weights=[1] * 8 + [count])
    assert "impossible sample count" in result.diagnostics.dropped[0].reason
    np.testing.assert_array_equal(result.update, fedavg(rows).update)


@pytest.mark.parametrize("rule", [fedavg, rfa, rlr(threshold=2), weak_dp(sigma=0.0)], ids=named)
def test_a_made_up_sample_count_is_capped_before_it_weighs_anything(rule):
    rows = np.array([*honest(19), np.full(6, -50.0)])
    counts = [10, 12, 9, 10, 11, 10, 10, 8, 10, 10] * 2
    liar, bold = (
        defend(rows, rule, weights=[*counts[:19], count], rng=np.random.default_rng(0))
        for count in (1e8, 100)
    )
    np.testing.assert_array_equal(liar.update, bold.update)
    assert any("count as 100: of client 19" in note for note in liar.diagnostics.notes)
    assert liar.diagnostics.client_weights[19] < (0.35 if rule is fedavg else 0.3)


def test_one_client_that_claims_a_hundred_million_examples_does_not_own_the_geometric_median():
    rows = np.array([*honest(19), np.full(6, -50.0)])
    update = defend(rows, rfa, weights=[10] * 19 + [10**8]).update
    assert np.abs(update - rfa(rows[:19]).update).max() < 2


def test_clients_without_examples_do_not_pull_the_cap_to_zero():
    result = defend(np.array(honest()), fedavg, weights=[0, 0, 0, 0, 0, 10, 20, 30])
    np.testing.assert_allclose(result.diagnostics.client_weights[5:], [1 / 6, 2 / 6, 3 / 6])


def test_what_a_client_claims_that_is_dropped_changes_nobody_elses_weight():
    rows, counts = [*honest(), *[np.full(6, np.nan)] * 9], [10] * 7 + [90] + [1] * 9
    for rule in (fedavg, rfa):
        with_them = defend(rows, rule, like=np.zeros(6), weights=counts)
        without = defend(rows[:8], rule, like=np.zeros(6), weights=counts[:8])
        assert str(with_them.diagnostics.client_weights) == str(without.diagnostics.client_weights)
        assert with_them.diagnostics.notes == without.diagnostics.notes


@pytest.mark.parametrize("rule", [invariant, trimmed_mean, median])
def test_attackers_at_the_edge_of_float32_cannot_leave_the_benign_range(rule):
    rng = np.random.default_rng(1)
    benign = rng.normal(size=(15, 1000)).astype(np.float32)
    attackers = np.where(rng.random((5, 1000)) < 0.5, 1e38, -1e38).astype(np.float32)
    update = defend(np.vstack([benign, attackers]), rule).update
    may_be_zero = (update == 0) if rule is invariant else False
    assert (((benign.min(0) <= update) & (update <= benign.max(0))) | may_be_zero).all()
    assert update.any()


def test_everybody_keeps_the_own_weight_after_a_drop():
    rows, weights = honest(), [1, 2, 3, 4, 5, 6, 7, 8]
    rows[2] = with_value(np.nan)
    left = [i for i in range(8) if i != 2]
    result = defend(rows, fedavg, like=np.zeros(6), weights=weights)
    expected = fedavg([rows[i] for i in left], weights=[weights[i] for i in left])
    np.testing.assert_array_equal(result.update, expected.update)


def test_a_bad_row_is_dropped_by_its_own_name_from_within_a_selection():
    def later(updates):
        rows = rows_of(updates)
        return median(rows.select(range(2, len(rows))))

    rows = np.array(honest())
    rows[5, 0] = rows[7, 0] = np.nan
    assert [drop.client for drop in defend(rows, later).diagnostics.dropped] == [5, 7]


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_half_precision_result_that_is_not_finite_does_not_reach_the_model(bad):
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

    def broken(updates):
        return Aggregate(torch.full((6,), bad, dtype=torch.bfloat16))

    result = defend(torch.zeros((4, 6), dtype=torch.bfloat16), broken)
    assert not result.diagnostics.aggregated
    assert not result.update.any()


def test_a_flat_result_is_given_the_form_of_the_model():
    def flat_mean(updates):
        return Aggregate(np.mean(updates, axis=0))

    params = [np.zeros((2, 2), dtype=np.float32), np.zeros(1, dtype=np.float32)]
    sent = [[np.full((2, 2), i, dtype=np.float32), np.ones(1, dtype=np.float32)] for i in range(3)]
    update = defend(sent, flat_mean, like=params).update
    assert [layer.shape for layer in update] == [(2, 2), (1,)]
    with pytest.raises(InputError, match="returned an update that does not fit"):
        defend(sent, lambda updates: Aggregate(np.zeros(7)), like=params)


def giving(update):
    return lambda updates: Aggregate(update)


@pytest.mark.parametrize("explain", [False, True])
def test_lists_of_numbers_are_given_the_form_of_the_model(explain):
    rows = np.array([[1.0, 4.0, 7.0], [2.0, 3.0, 8.0], [9.0, -2.0, 9.0]], dtype=np.float32)
    update = defend(rows, giving([2, 3.0, 8.0]), explain=explain).update
    assert (update.tolist(), update.dtype) == ([2.0, 3.0, 8.0], np.float32)
    layers = [[row[:2], row[2:]] for row in rows]
    for given in ([2.0, 3.0, 8.0], [[2.0, 3.0], [8.0]], [np.array([2.0, 3.0]), [8.0]]):
        result = defend(layers, giving(given), like=layers[0], explain=explain)
        assert [layer.tolist() for layer in result.update] == [[2.0, 3.0], [8.0]]
        assert {layer.dtype for layer in result.update} == {np.dtype(np.float32)}
    with pytest.raises(InputError, match="returned an update that does not fit: wrong shape"):
        defend(rows, giving([2.0, 3.0]))


def test_nothing_is_measured_unless_asked_for():
    assert defend(np.array(honest()), median).diagnostics.norms is None
    assert defend(rows_of(np.array(honest()), explain=True), median).diagnostics.norms is not None


def test_nobody_left_is_the_zero_update_loudly(caplog):
    bad = [np.full((2, 3), np.nan), np.ones(1)]
    before = Memory(SparseFedState.start(6, np.dtype(np.float32)))
    with caplog.at_level(logging.WARNING, "holdfast"):
        result = defend(bad, sparsefed, like=np.ones((2, 3), dtype=np.float32), state=before)
    np.testing.assert_array_equal(result.update, np.zeros((2, 3), dtype=np.float32))
    assert result.update.dtype == np.float32
    assert result.state is before
    assert not result.diagnostics.aggregated
    assert "NOT AGGREGATED" in str(result.diagnostics)
    assert "the model stays as it is: no usable update is left" in caplog.text
    assert "client 1: wrong shape" in caplog.text


def test_no_clients_at_all_is_the_zero_update_too():
    assert not defend([], invariant, like=np.ones(2)).diagnostics.aggregated
    assert not defend(np.ones((0, 2)), invariant).diagnostics.aggregated


def test_too_few_left_for_the_rule_leaves_the_model_as_it_is():
    result = defend(np.array([*honest(4), np.full(6, np.nan)]), krum_of(2))
    assert not result.update.any()
    assert "krum needs n >= f + 3" in result.diagnostics.notes[0]


def test_too_few_from_the_start_leave_the_model_as_it_is_too():
    result = defend(np.array(honest(4)), krum_of(2), like=np.ones(6))
    assert not result.diagnostics.aggregated
    np.testing.assert_array_equal(result.model, np.ones(6))


@pytest.mark.parametrize("bad", [0, 1])
def test_fewer_usable_clients_than_asked_for_leave_the_model_as_it_is(bad):
    rows = honest(4)
    rows[0] = with_value(np.nan) if bad else rows[0]
    result = defend(rows, median, like=np.ones(6), min_clients=5 - bad)
    assert not result.diagnostics.aggregated
    assert f"{4 - bad} clients are usable, {5 - bad} are needed" in result.diagnostics.notes[0]
    assert defend(rows, median, like=np.ones(6), min_clients=4 - bad).diagnostics.aggregated


def test_a_rule_whose_result_is_not_finite_does_not_reach_the_model():
    def broken(updates):
        return Aggregate(np.full(6, np.nan))

    result = defend(np.array(honest()), broken)
    assert not result.update.any()
    assert result.diagnostics.notes == ("the next model would not be finite",)


def test_a_rule_of_ones_own_is_defended_like_the_others():
    def largest(updates):
        return Aggregate(np.max(updates, axis=0))

    rows = honest()
    result = defend([*rows, with_value(np.nan)], largest, like=np.zeros(6))
    np.testing.assert_array_equal(result.update, np.max(rows, axis=0))
    assert result.diagnostics.rule == "largest"
    assert [drop.client for drop in result.diagnostics.dropped] == [8]


def test_models_with_a_base_are_defended_layer_by_layer():
    base = [np.ones((2, 2)), np.zeros(2)]
    models = [[base[0] + i, base[1] - i] for i in (0.5, 1.0, 1.5)]
    result = defend([*models, [base[0] * np.inf, base[1]], base[:1]], median, base=base)
    np.testing.assert_array_equal(result.update[0], np.ones((2, 2)))
    assert [drop.client for drop in result.diagnostics.dropped] == [4, 3]


def test_rows_can_be_screened_again():
    rows = rows_of(np.array(honest()))
    np.testing.assert_array_equal(defend(rows, median).update, median(rows).update)
    with pytest.raises(InputError, match="base already"):
        defend(rows, median, base=np.zeros(6))


def test_screen_says_who_was_dropped_and_why():
    clean = screen(
        [*honest(2), np.ones(3), with_value(np.nan)],
        like=np.zeros(6),
        weights=[1, 2, 3, 4],
        clients=list("abcd"),
    )
    assert clean.clients == ("a", "b")
    assert clean.weights.tolist() == [1, 2]
    assert [drop.client for drop in clean.dropped] == ["c", "d"]
    assert len(screen([], like=np.zeros(6)).rows) == 0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: defend(honest(), invariant), "pass base= if they sent models, like= if they sent updates"),
        (lambda: defend(np.ones((2, 3), dtype=int), invariant), "updates: wrong type: int64"),
        (lambda: defend(np.ones(3), invariant), "one row per client"),
        (
            lambda: defend(np.ones((2, 3)), invariant, weights=[1]),
            "weights must hold one entry per client: 2; got 1",
        ),
        (
            lambda: defend(np.ones((2, 3)), invariant, clients=[1]),
            "clients must hold one entry per client: 2; got 1",
        ),
        (lambda: defend(np.ones((2, 3)), invariant, like=np.ones(3, dtype=int)), "like: wrong type"),
        (lambda: defend(np.ones((2, 3)), invariant(tau=2)), r"tau.* must be in \[0, 1\]"),
        (lambda: defend(np.ones((2, 3)), fltrust), "fltrust needs reference="),
        (lambda: defend(np.ones((2, 3)), fltrust, reference=np.ones(4)), "reference must have the form"),
        (lambda: weak_dp(np.ones((2, 3))), "weak_dp needs rng="),
        (lambda: defend(np.ones((2, 3)), krum), "krum needs n_malicious"),
        (lambda: defend(np.ones((2, 3)), "invariant"), "a rule is a function"),
        (lambda: defend(np.ones((2, 3)), weak_dp, rng=7), "rng must be a numpy Generator"),
        (
            lambda: defend(np.ones((2, 3)), fedavg, weights=3),
            "weights must hold one entry per client; got int",
        ),
        (lambda: defend(np.ones((2, 3)), fedavg, weights={0: 1}), "weights has no entry for client 1"),
        (
            lambda: defend(np.ones((2, 3)), fedavg, clients=["a", "a"]),
            "'a' is there twice",
        ),
        (lambda: defend({"a": np.ones(3)}, fedavg, like=np.ones(3), clients=["a"]), "leave out clients="),
        (lambda: defend(np.ones((2, 3)), fedavg, like=np.ones(3), base=np.ones(3)), "not both"),
        (lambda: defend(np.ones((2, 3)), fedavg, state=3), "state must be the state of the last round"),
        (lambda: defend(np.ones((2, 3)), fedavg, min_clients=0), "min_clients must be a whole number"),
        (lambda: defend(np.ones((2, 3)), fedavg, pardoned="3"), "pardoned must hold clients' ids, such as"),
        (lambda: defend(np.ones((2, 3)), fedavg, pardoned=3), r"such as \[3\]; got 3"),
        (
            lambda: defend(np.ones((2, 3)), fedavg, base=np.array([0, np.nan, 0])),
            "base, the global model, holds",
        ),
    ],
)
def test_what_the_caller_sets_wrongly_raises(call, says):
    with pytest.raises(InputError, match=says):
        call()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"rule": invariant(alpha=0.5)}, "alpha, the share trimmed"),
        ({"rule": fltrust}, "fltrust needs reference="),
        ({"rule": median, "watch": factions(false_alarms=5)}, "false_alarms"),
    ],
)
def test_what_is_set_wrongly_is_told_of_before_a_hearing(given, says):
    with pytest.raises(InputError, match=says):
        defend(np.ones((12, 3)), clients=range(12), **{"watch": factions(), **given})


@every_rule
def test_every_rule_can_be_rehearsed(rule):
    rehearse(rule)


def test_a_rehearsal_leaves_functions_of_the_users_own_alone():
    def mine(updates):
        raise AssertionError("called with rows that nobody has sent")

    rehearse(bind(mine))
    rehearse(cached(rule=mine))
    with pytest.raises(InputError, match="tau"):
        rehearse(cached(rule=invariant(tau=3)))
    rehearse(krum(n_malicious=10**9))  # how many clients come is seen in the round


def test_a_rehearsal_writes_nothing(tmp_path):
    rehearse(cached(rule=median, folder=str(tmp_path / "momenta")))
    assert not [*tmp_path.iterdir()]


def test_without_a_generator_a_rule_draws_afresh():
    sent, same = np.ones((5, 3)), np.random.default_rng
    first, second = (defend(sent, weak_dp).update for _ in range(2))
    assert not np.array_equal(first, second)
    first, second = (defend(sent, weak_dp, rng=same(3)).update for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert defend(dict(enumerate(sent)), flame, like=np.zeros(3)).diagnostics.aggregated


def test_no_id_reaches_a_terminal_unescaped(caplog):
    """In rounds over files, ids are names of files, which strangers may have chosen."""
    rng, hostile = np.random.default_rng(0), "eve\x1b[2J\nclient bob"
    ids, own, plot = [hostile, *range(19)], rng.normal(size=(20, 300)), 2 * rng.normal(size=300)
    counts, state = {client: 1e6 if client == hostile else 10 for client in ids}, None
    for _ in range(6):
        sent = own + rng.normal(size=own.shape)
        sent[:4] += plot
        models = dict(zip(ids, sent, strict=True))
        given = {"weights": counts, "state": state, "like": np.zeros(300), "explain": True}
        result = defend(models, fedavg, watch=factions(mode="report"), **given)
        state = result.state
    said = [str(result.verdicts), str(result.diagnostics), caplog.text]
    assert all("eve\\x1b[2J\\nclient bob" in text for text in said)
    assert not any("\x1b" in text for text in said)


def test_diagnostics_name_the_clients_by_their_ids():
    result = defend(np.array(honest()), invariant, clients=list("abcdefgh"), explain=True)
    assert result.diagnostics.clients == tuple("abcdefgh")
    assert "       a" in str(result.diagnostics)


def test_a_rule_that_returns_no_aggregate_is_told_what_to_return():
    def forgetful(updates):
        return np.mean(updates, axis=0)

    with pytest.raises(InputError, match=r"forgetful returned ndarray; a rule returns Aggregate\(update\)"):
        defend(np.array(honest()), forgetful)


def test_a_rule_gets_the_parameters_of_the_global_model_flat():
    def to_zero(updates, *, params):
        return Aggregate(-params)

    base = {"w": np.full((2, 2), 3, dtype=np.float32), "b": np.ones(1, dtype=np.float16)}
    sent = [{name: own + 1 for name, own in base.items()}] * 2
    for given in ({"base": base}, {"like": base}):
        model = defend(sent, to_zero, **given).model
        assert not model["w"].any()
        assert not model["b"].any()
    with pytest.raises(InputError, match=r"to_zero needs params= \(the parameters of the global model"):
        defend(np.ones((2, 3)), to_zero)


def test_a_row_that_is_found_out_on_the_way_changes_nothing_of_what_the_rule_draws():
    def drawn_and_read(updates, *, rng):
        return Aggregate(rng.normal(size=3) + np.mean(updates, axis=0))

    rows = np.vstack([np.ones((4, 3)), np.full((1, 3), np.nan)])
    first, second = (defend(sent, drawn_and_read, rng=np.random.default_rng(0)) for sent in (rows, rows[:4]))
    np.testing.assert_array_equal(first.update, second.update)


def test_whom_an_operator_has_pardoned_keeps_its_say_whatever_the_watch_finds():
    rng, states = np.random.default_rng(0), {(): None, ("c0",): None}
    own, plot = rng.normal(size=(20, 300)), rng.normal(size=300)
    for _ in range(7):
        sent = own + rng.normal(size=own.shape)
        sent[:4] += plot
        models = {f"c{i}": row for i, row in enumerate(sent)}
        found = {
            pardoned: defend(
                models,
                median,
                like=np.zeros(300),
                watch=factions(),
                pardoned=pardoned,
                state=state,
                rng=np.random.default_rng(1),
            )
            for pardoned, state in states.items()
        }
        states = {pardoned: result.state for pardoned, result in found.items()}
    assert found[()].verdicts.of("expelled") == ("c0", "c1", "c2", "c3")
    spared = found["c0",]
    assert (spared.verdicts.of("expelled"), spared.verdicts.of("suspected")) == (("c1", "c2", "c3"), ("c0",))
    assert "c0" in spared.diagnostics.clients


@pytest.mark.parametrize(("pardoned", "n_rewinds"), [((), 1), (range(2), 1), (range(4), 0)])
def test_those_who_are_pardoned_do_not_send_the_model_back_to_its_start(pardoned, n_rewinds):
    rng, state, model = np.random.default_rng(0), None, np.zeros(300)
    own, plot, rewound = rng.normal(size=(20, 300)), 2 * rng.normal(size=300), []
    for _ in range(7):
        sent = model + own + rng.normal(size=own.shape)
        sent[:5] += plot
        result = defend(
            dict(enumerate(sent)),
            median,
            base=model,
            watch=factions(hearing=0),
            pardoned=pardoned,
            state=state,
            rng=np.random.default_rng(1),
        )
        model, state = result.model, result.state
        rewound.append(result.verdicts.rewound)
    assert result.verdicts.named == tuple(range(5))
    assert (sum(rewound), state.watch.n_rewinds) == (n_rewinds, n_rewinds)


def test_a_pardon_under_an_id_that_only_looks_alike_is_told_of(caplog):
    given = {"like": np.zeros(3), "watch": factions(), "clients": range(12)}
    notes = defend(np.ones((12, 3)), median, pardoned=["3", 4, "absent"], **given).diagnostics.notes
    assert [note for note in notes if "pardoned" in note] == ["pardoned holds '3', and the client's id is 3"]
    assert "pardoned holds '3'" in caplog.text


def with_copies(n=12, dim=400, seed=0):
    """Updates by client id; c3 and c5 send the same, c8 sends zeros."""
    rows = np.random.default_rng(seed).normal(size=(n, dim)) + 1
    rows[5], rows[8] = rows[3], 0
    return {f"c{number}": row for number, row in enumerate(rows)}


@every_rule
def test_clients_that_send_the_same_are_named_and_keep_their_say(rule):
    said = defend(with_copies(), rule, like=np.zeros(400), **inputs(400)).diagnostics
    assert (said.identical, said.unchanged) == ((("c3", "c5"),), ("c8",))
    assert {"c3", "c5", "c8"} <= {*said.clients}
    assert json.loads(json.dumps(said.as_dict()))["identical"] == [["c3", "c5"]]


def test_who_sent_the_same_is_in_the_log_and_in_print(caplog):
    said = defend(with_copies(), median, like=np.zeros(400)).diagnostics
    for text in (caplog.text, str(said)):
        assert "clients c3 and c5 sent the same model" in text
        assert "client c8 sent the global model unchanged" in text
    caplog.clear()
    assert defend(np.eye(4), median).diagnostics.attention == ()
    assert caplog.text == ""


def test_of_many_copies_ten_are_named_and_the_others_counted():
    (sentence,) = defend(np.ones((40, 3)), median).diagnostics.attention
    assert sentence == "clients 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 30 more sent the same model"


def test_copies_with_numbers_that_cannot_be_used_are_dropped_and_named():
    sent = with_copies()
    sent["c3"][7] = sent["c5"][7] = np.nan
    said = defend(sent, median, like=np.zeros(400)).diagnostics
    assert said.identical == (("c3", "c5"),)
    assert [drop.client for drop in said.dropped] == ["c3", "c5"]


def test_copies_are_named_where_nothing_is_aggregated():
    few = {"ann": np.ones(3), "bob": np.ones(3)}
    for settings in ({"min_clients": 3}, {"rule": krum(n_malicious=1)}):
        said = defend(few, **{"rule": median, "like": np.zeros(3), **settings}).diagnostics
        assert not said.aggregated
        assert said.identical == (("ann", "bob"),)


def test_copies_are_named_in_a_hearing_and_once_they_are_expelled():
    rng, state, plot = np.random.default_rng(0), None, np.random.default_rng(1).normal(size=600)
    seen = []
    for _ in range(6):
        rows = rng.normal(size=(20, 600))
        rows[:5] = rows[0] + 2 * plot
        result = defend(rows, median, clients=range(20), watch=factions(), state=state, rng=rng)
        state = result.state
        assert result.diagnostics.identical == ((0, 1, 2, 3, 4),)
        seen.append((result.verdicts.hearing, result.verdicts.of("expelled")))
    assert seen[0] == (True, ())
    assert seen[-1] == (False, (0, 1, 2, 3, 4))


def test_models_with_other_buffers_are_still_the_same():
    base = {"w": np.zeros(5, np.float32), "bn.running_mean": np.zeros(2, np.float32)}
    models = [
        {"w": np.full(5, i // 2, np.float32), "bn.running_mean": np.full(2, i, np.float32)} for i in range(6)
    ]
    said = defend(models, median, base=base).diagnostics
    assert (said.identical, said.unchanged) == (((2, 3), (4, 5)), (0, 1))
