"""Rounds with a watch: what becomes of the model, whoever is silenced, held or rewound."""

import logging
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from holdfast import InputError, defend, factions, fedavg, median, sparsefed, trimmed_mean, weak_dp
from holdfast.defending import defend_screened
from holdfast.defending.screening import fitting
from holdfast.watching import ClientMemory, Verdicts, Watched
from holdfast.watching.judging import watch

from .federation import Federation

torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")
rng = np.random.default_rng(0)

IDS = tuple("abcdefgh")


@pytest.fixture(autouse=True)
def _same_noise():
    """Half of the clients move a variance below zero, and are dropped: now and then it would be all."""
    torch.manual_seed(0)


def saying(**decides):
    """Return a watch that decides this in every round."""

    @watch
    def always(updates, *, clients, state=None):
        number = 1 if state is None else state.round + 1
        return Watched(replace(ClientMemory(), round=number), Verdicts(number), **decides)

    return always


def array(dtype):
    return rng.normal(size=7).astype(dtype)


def with_statistics(dtype=torch.float32):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    net(torch.randn(9, 3))  # BatchNorm counts it
    return {
        name: values.to(dtype) if values.is_floating_point() else values
        for name, values in net.state_dict().items()
    }


#: Models as servers hold them.
MODELS = {
    "float32": lambda: array(np.float32),
    "float16": lambda: array(np.float16),
    "bfloat16": lambda: array(ml_dtypes.bfloat16),
    "float64": lambda: array(np.float64),
    "layers": lambda: [array(np.float32).reshape(7, 1), array(np.float16), np.array(-0.0)],
    "state dict": with_statistics,
    "half state dict": lambda: with_statistics(torch.bfloat16),
    "tensor": lambda: torch.randn(5, dtype=torch.float64),
    "a buffer named params": lambda: {"w": array(np.float32), "params": np.arange(3)},
}
every_model = pytest.mark.parametrize("kind", MODELS)


def leaves(model):
    if isinstance(model, dict):
        return list(model.values())
    return list(model) if isinstance(model, list) else [model]


def mapped(model, change):
    if isinstance(model, dict):
        return {name: change(values) for name, values in model.items()}
    return [change(layer) for layer in model] if isinstance(model, list) else change(model)


def bits(model):
    """Return types and bytes of all arrays of a model."""
    found = []
    for leaf in leaves(model):
        tensor = leaf.view(torch.uint8) if torch.is_tensor(leaf) and leaf.ndim else leaf
        found.append((type(leaf), leaf.dtype, tuple(leaf.shape), np.asarray(tensor).tobytes()))
    return found


def moved(values):
    """Return an array as a client changes it by training."""
    if torch.is_tensor(values):
        return (
            values + torch.randn(values.shape).to(values.dtype) if values.is_floating_point() else values + 3
        )
    is_float = values.dtype.kind == "f" or values.dtype == ml_dtypes.bfloat16
    return (values + rng.normal(size=values.shape)).astype(values.dtype) if is_float else values + 3


def a_round(model, watch, state=None, rule=median):
    sent = {client: mapped(model, moved) for client in IDS}
    return defend(sent, rule, base=model, watch=watch, state=state)


@every_model
def test_while_clients_are_heard_the_model_keeps_its_bits(kind):
    model = MODELS[kind]()
    result = a_round(model, saying(holds=True))
    assert bits(result.model) == bits(model)
    assert not any(
        np.asarray(leaf.float() if torch.is_tensor(leaf) else leaf).any() for leaf in leaves(result.update)
    )
    assert not result.diagnostics.aggregated
    assert result.state.start is None


@every_model
def test_a_rewind_is_to_the_bits_of_the_start(kind):
    start = MODELS[kind]()
    kept = bits(start)
    first = a_round(start, saying(may_rewind=True))
    assert bits(first.model) != kept
    second = a_round(first.model, saying(may_rewind=True), first.state)
    for leaf in leaves(start):  # a server may reuse the memory of its model
        leaf[...] = 0
    third = a_round(second.model, saying(may_rewind=True, rewinds=True), second.state)
    assert bits(third.model) == kept
    assert third.state.start is None
    for leaf in leaves(third.model):  # and of this one
        leaf[...] = 1
    again = a_round(second.model, saying(may_rewind=True, rewinds=True), second.state)
    assert bits(again.model) == kept
    assert not again.diagnostics.aggregated
    assert "back to the start" in again.diagnostics.notes[0]


@every_model
def test_the_update_of_a_rewind_leads_back_to_the_start(kind):
    start = MODELS[kind]()
    first = a_round(start, saying(may_rewind=True))
    back = a_round(first.model, saying(may_rewind=True, rewinds=True), first.state)
    for old, step, new in zip(leaves(first.model), leaves(back.update), leaves(start), strict=True):
        assert type(step) is type(old)
        assert step.dtype == old.dtype
        old, step, new = (
            np.asarray(one.double() if torch.is_tensor(one) else one, float) for one in (old, step, new)
        )
        np.testing.assert_allclose(old + step, new, atol=0.02 * max(1, np.abs(new).max(), np.abs(old).max()))


def test_without_a_model_no_rewind_is_claimed_and_the_caller_is_asked_for_one(caplog):
    federation, state, said = Federation(n=20, n_plotters=5), None, []
    for _ in range(6):
        updates, watch = federation.updates(), factions(hearing=0)
        result = defend(updates, median, clients=range(20), watch=watch, state=state, rng=rng)
        state = result.state
        said.append(result)
    assert result.verdicts.of("expelled") == federation.plotters
    assert not any(one.verdicts.rewound for one in said)
    asked = [one for one in said if any("yourself" in note for note in one.diagnostics.notes)]
    assert [one.verdicts.changed[0].client for one in asked] == [0]
    assert "back to the start" not in caplog.text


def test_a_rule_begins_anew_with_the_model():
    model = array(np.float32)
    first = a_round(model, saying(may_rewind=True), rule=sparsefed)
    assert first.state.rule is not None
    back = a_round(first.model, saying(may_rewind=True, rewinds=True), first.state, rule=sparsefed)
    assert back.state.rule is None
    assert back.state.watch.round == 2


def test_the_start_is_kept_for_as_long_as_a_rewind_may_come():
    model, state = array(np.float32), None
    for decides in ({"may_rewind": True}, {"may_rewind": True}, {}):
        result = a_round(model, saying(**decides), state)
        model, state = result.model, result.state
        assert (state.start is not None) == bool(decides)


def test_the_start_is_released_when_no_rewind_can_come_any_more():
    federation, model, state, kept = Federation(n=12, dim=20), np.zeros(20, np.float32), None, []
    for _ in range(8):
        models = model + federation.updates()
        result = defend(models, median, base=model, clients=range(12), state=state, watch=factions(rewind=3))
        model, state = result.model, result.state
        kept.append(state.start is not None)
    assert kept == [False, False, True, True, True, False, False, False]


def test_those_silenced_have_no_say_and_are_named():
    model = np.zeros(7, np.float32)
    sent = {client: moved(model) for client in IDS}
    result = defend(sent, fedavg, base=model, watch=saying(silenced={1: "expelled since round 3"}))
    rest = {client: update for client, update in sent.items() if client != "b"}
    np.testing.assert_array_equal(result.model, defend(rest, fedavg, base=model).model)
    assert result.diagnostics.clients == tuple(rest)
    assert [str(drop) for drop in result.diagnostics.dropped] == ["client b: expelled since round 3"]


def test_nobody_left_to_speak_leaves_the_model_as_it_is():
    result = a_round(array(np.float32), saying(silenced=dict.fromkeys(range(8), "expelled")))
    assert not result.diagnostics.aggregated
    assert result.state.watch.round == 1


@pytest.mark.parametrize("rule", [fedavg, median, trimmed_mean(alpha=0.2), weak_dp(sigma=0.1)], ids=str)
def test_a_report_never_changes_the_model(rule):
    federation = Federation(n=30, dim=300, n_plotters=5)
    model, state, alone, found = np.zeros(300, np.float32), None, None, ()
    for number in range(8):
        sent = list(model + federation.updates())
        sent[7][3] = np.nan
        with_it, without = (
            defend(
                sent,
                rule,
                base=model,
                clients=range(30),
                state=memory,
                watch=watch,
                rng=np.random.default_rng(number),
            )
            for memory, watch in ((state, factions(mode="report")), (alone, None))
        )
        assert with_it.model.tobytes() == without.model.tobytes()
        assert with_it.diagnostics.clients == without.diagnostics.clients
        model, state, alone, found = (
            with_it.model,
            with_it.state,
            without.state,
            with_it.verdicts.named,
        )
    assert set(found) == {0, 1, 2, 3, 4}


def row_of(value):
    def send(rows):
        rows[0] = value
        return rows

    return send


def spread(rows):
    rows[0, -1] = 1e38
    return rows


HOSTILE = {
    "nan": row_of(np.nan),
    "inf": row_of(np.inf),
    "minus inf": row_of(-np.inf),
    "1e38": row_of(1e38),
    "largest": row_of(np.finfo(np.float32).max),
    "tiniest": row_of(1e-45),
    "zeros": row_of(0),
    "one coordinate": spread,
    "all zeros": lambda rows: 0 * rows,
    "all the same": lambda rows: 0 * rows + rows[1],
    "all nan": lambda rows: rows * np.nan,
    "all huge": lambda rows: np.sign(rows) * np.finfo(np.float32).max,
    "half of them huge": lambda rows: np.where(np.arange(len(rows))[:, None] % 2, rows, 3e38),
    "nobody": lambda rows: rows[:0],
    "one": lambda rows: rows[:1],
    "two": lambda rows: rows[:2],
    "five": lambda rows: rows[:5],
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("dim", [1, 2, 33])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_a_round_never_fails_because_of_what_clients_send(kind, dim, dtype, caplog):
    caplog.set_level(logging.CRITICAL)
    federation, model, state = Federation(n=14, dim=dim), np.zeros(dim, dtype), None
    for number in range(6):
        with np.errstate(over="ignore"):
            sent = federation.updates()
            rows = (HOSTILE[kind](sent) if number in (0, 3, 4) else sent).astype(dtype)
        result = defend(
            list(rows),
            trimmed_mean(alpha=0.1),
            like=model,
            clients=[f"{i}" for i in range(len(rows))],
            watch=factions(hearing=0, sample=16),
            state=state,
            rng=np.random.default_rng(0),
        )
        model, state = result.model, result.state
        assert np.isfinite(np.asarray(model, np.float64)).all()
        assert all(np.isfinite(verdict.place).all() for verdict in result.verdicts or ())
    assert result.diagnostics.aggregated


def test_rows_that_cannot_be_read_are_dropped_by_name_before_anybody_is_judged():
    rows = list(Federation(n=9, dim=5).updates())
    rows[4][2] = np.nan
    result = defend(rows, median, like=np.zeros(5, np.float32), clients=range(9), watch=factions(hearing=0))
    assert [drop.client for drop in result.diagnostics.dropped] == [4]
    assert 4 not in {verdict.client for verdict in result.verdicts}


def test_adapters_survive_a_round_without_a_usable_row():
    rows = list(np.full((9, 5), np.nan, np.float32))
    result = defend_screened(fitting(rows, like=np.zeros(5, np.float32)), median, watch=factions())
    assert len(result.diagnostics.dropped) == 9
    assert result.verdicts is None


@pytest.mark.parametrize(
    "clients",
    [
        ["x" * 10_000, *range(13)],
        [(1, 2), b"x", 1.5, True, None, np.int64(9), -1, 10**30, "\ud800", *"abcde"],
    ],
    ids=["long", "odd"],
)
def test_any_id_will_do(clients):
    state, federation = None, Federation(n=14, dim=10)
    for _ in range(5):
        result = defend(federation.updates(), median, clients=clients, watch=factions(), state=state)
        state = result.state
    assert result.diagnostics.clients == tuple(clients)
    assert len(result.verdicts.clients) == 14


def test_a_watch_without_ids_is_refused():
    with pytest.raises(InputError, match="knows clients by their ids: pass clients="):
        defend(Federation(n=9).updates(), median, watch=factions())


def test_the_newly_expelled_are_logged_once(caplog):
    federation, state = Federation(n=30, dim=300, n_plotters=5), None
    with caplog.at_level(logging.WARNING):
        for _ in range(8):
            result = defend(federation.updates(), median, clients=range(30), watch=factions(), state=state)
            state = result.state
    assert sum("client 3: expelled since round" in record.message for record in caplog.records) == 1


def test_plotters_found_in_the_hearing_never_reach_the_model():
    federation = Federation(n=30, dim=300, n_plotters=5, push=1.5)
    model, state = np.zeros(300, np.float32), None
    for _ in range(8):
        sent = model + federation.updates()
        result = defend(sent, fedavg, base=model, clients=range(30), watch=factions(hearing=6), state=state)
        model, state = result.model, result.state
    assert set(result.diagnostics.clients) == set(range(5, 30))
    assert abs(model @ federation.plot) / (federation.plot @ federation.plot) < 0.05


@pytest.mark.parametrize(
    ("n", "says"),
    [(3, "fewer than 4 clients at a time cannot be"), (4, "all were heard, for about 2 more rounds")],
)
def test_rounds_too_small_to_be_heard_say_so(n, says, caplog):
    models = {name: np.ones(5, np.float32) for name in IDS[:n]}
    with caplog.at_level(logging.ERROR, logger="holdfast"):
        result = defend(models, fedavg, base=np.zeros(5, np.float32), watch=factions())
    assert result.diagnostics.notes[0].endswith(says)
    assert bool(caplog.records) == (n == 3)


def test_a_watch_that_too_few_are_left_for_says_so(caplog):
    federation, state, blind = Federation(n=12), None, []
    for number in range(12):
        here = range(12) if number < 4 else range(3, 12)  # three were banned, say
        sent = dict(zip(here, federation.updates(here), strict=True))
        result = defend(sent, median, like=np.zeros(400), watch=factions(), state=state, rng=rng)
        state = result.state
        blind.append(any("looks for nobody any more" in note for note in result.diagnostics.notes))
    assert blind == sorted(blind)
    assert blind[-1]
    assert not any(blind[:5])
    assert "it needs 10 clients, and fewer still take part" in caplog.text
