"""What is remembered of clients, against a straightforward computation."""

import json
from dataclasses import replace

import numpy as np
import pytest

from holdfast.watching.memory import (
    COUNTS,
    CUT,
    LONGEST,
    N_HEARD,
    N_REMEMBERED,
    ONE,
    PER_CLIENT,
    ClientMemory,
    with_round,
)

from .federation import Federation


def remembered(rounds):
    """Compute each client's mean deviation and lengths in plain NumPy: the twin of with_round."""
    means, squares, lengths, heard = {}, {}, {}, {}
    for sent, clients, expelled in rounds:
        values = sent.astype(np.float64)
        crowd = np.array([client not in expelled for client in clients])
        n_cut, told = crowd.sum() // 4, np.sort(values[crowd], axis=0)
        middle = told[n_cut : len(told) - n_cut].mean(axis=0)
        usual = np.median(np.abs(values[crowd] - middle), axis=0)
        unit = np.maximum(1.5 * usual, 0.1 * np.median(usual[usual > 0]))
        for row, client in enumerate(clients):
            heard[client] = heard.get(client, 0) + 1
            pace = 1 / min(heard[client], N_REMEMBERED)
            whole = np.linalg.norm((values - middle) / unit, axis=1)
            deviations = np.clip((values - middle) / unit, -CUT, CUT)
            cut = np.linalg.norm(deviations, axis=1)
            now = deviations[row] * min(1, LONGEST * np.median(cut[crowd]) / cut[row])
            for mean, value in (
                (means, now),
                (squares, now @ now),
                (lengths, whole[row] / np.median(whole[crowd])),
            ):
                before = mean.get(client, np.zeros(np.shape(value)))
                mean[client] = before + pace * (value - before)
    return means, squares, lengths


def after(rounds):
    memory = ClientMemory()
    for sent, clients, expelled in rounds:
        memory = memory.with_clients(clients, sent.shape[1])
        since = np.array([int(client in expelled) for client in memory.clients], dtype=np.int32)
        memory = with_round(replace(memory, since=since), sent, clients)
    return memory


def test_the_memory_of_a_client_is_its_mean_deviation():
    federation, rng, rounds = Federation(n=14, dim=60), np.random.default_rng(0), []
    for number in range(25):
        clients = rng.permutation(14)[: rng.integers(6, 15)].tolist()
        sent = federation.updates(clients)
        sent[0] *= 40  # whoever shouts is not heard more
        rounds.append((sent, clients, {3, 7} if number > 12 else set()))
    memory, (means, squares, lengths) = after(rounds), remembered(rounds)
    assert set(memory.clients) == set(means)
    for position, client in enumerate(memory.clients):
        # Rounded to a whole number in every round: errors of a half, which fade.
        np.testing.assert_allclose(memory.rows[position], ONE * means[client], atol=4)
        np.testing.assert_allclose(memory.squares[position], ONE**2 * squares[client], rtol=1e-5)
        np.testing.assert_allclose(memory.length[position], lengths[client], rtol=1e-5)
    assert memory.round == 25
    assert memory.heard.sum() == sum(len(clients) for _, clients, _ in rounds)


@pytest.mark.parametrize("last", [6, 20], ids=["known", "new"])
def test_an_older_memory_stays_as_it_was(last):
    federation = Federation(n=12, dim=30)
    before = after([(federation.updates(), list(range(12)), set())])
    stored = {name: values.copy() for name, values in before.as_arrays().items()}
    later = with_round(before, federation.updates([1, 2, 3, 4, 5, 6]), [1, 2, 3, 4, 5, last])
    for name, values in before.as_arrays().items():
        np.testing.assert_array_equal(values, stored[name])
    assert later.rows[0] is before.rows[0]  # of a client that was not heard
    assert not np.array_equal(later.rows[1], before.rows[1])


@pytest.mark.parametrize("scale", [2.0**-40, 2.0**40])
def test_the_scale_of_all_updates_changes_no_bit_if_it_is_a_power_of_two(scale):
    rounds = [(Federation(dim=50).updates(), list(range(30)), set())]
    scaled = [(sent * np.float32(scale), clients, expelled) for sent, clients, expelled in rounds]
    assert after(rounds).as_arrays()["rows"].tobytes() == after(scaled).as_arrays()["rows"].tobytes()


@pytest.mark.parametrize(("scale", "shift"), [(3.3e-5, 0), (1, 5.5), (0.7, -30)])
def test_any_scale_and_what_all_have_in_common_change_next_to_nothing(scale, shift):
    sent = Federation(dim=50).updates()
    common = shift * np.random.default_rng(1).normal(size=50)
    one, other = (
        after([(values.astype(np.float32), list(range(30)), set())])
        for values in (sent, scale * sent + common)
    )
    difference = one.as_arrays()["rows"].astype(int) - other.as_arrays()["rows"]
    assert np.abs(difference).max() <= 2  # of 8192


@pytest.mark.parametrize("kind", ["huge", "tiny", "one-sided", "zero", "equal", "one moves"])
def test_whatever_is_sent_is_remembered_within_bounds(kind):
    sent = Federation(n=9, dim=20).updates()
    top = np.finfo(np.float32).max
    if kind == "huge":
        sent[:] = top * np.sign(sent)
    elif kind == "tiny":
        sent *= 1e-45
    elif kind == "one-sided":
        sent[:5], sent[5:] = top, -top
    elif kind == "one moves":
        sent[:] = 0
        sent[0, 3] = 1
    else:
        sent[:] = {"zero": 0, "equal": 7}[kind]
    memory = after([(sent, list(range(9)), set())] * 3)
    assert np.abs(memory.as_arrays()["rows"].astype(int)).max() <= CUT * ONE
    assert (memory.heard == 3).all()


def test_doubles_beyond_all_floats_count_as_very_large():
    sent = Federation(n=9, dim=20).updates().astype(np.float64)
    sent[0, 0] = 1e300
    views = after([(sent, list(range(9)), set())]).as_arrays()["rows"]
    sent[0, 0] = 1e30
    np.testing.assert_array_equal(views, after([(sent, list(range(9)), set())]).as_arrays()["rows"])


def test_in_a_round_of_very_few_nobody_is_heard():
    few = N_HEARD - 1
    memory = after([(Federation(n=few, dim=5).updates(), list(range(few)), set())])
    assert (memory.round, memory.n_clients, memory.heard.sum()) == (1, few, 0)
    assert not memory.as_arrays()["rows"].any()


def test_the_expelled_have_no_say_in_what_is_usual():
    federation = Federation(n=12, dim=40)
    sent, loud = federation.updates(), federation.updates()
    loud[:8], loud[8:] = sent[:8], 1e3
    quiet, noisy = (after([(values, list(range(12)), {8, 9, 10, 11})]) for values in (sent, loud))
    for position in range(8):
        np.testing.assert_array_equal(quiet.rows[position], noisy.rows[position])


def test_those_not_heard_for_longest_are_forgotten_first_and_nobody_who_is_present():
    memory = ClientMemory()
    for start in range(0, 40, 5):
        clients = list(range(start, start + 5))
        memory = with_round(memory, Federation(n=5, dim=8, seed=start).updates(), clients)
        memory = memory.limited(12, clients)
        assert memory.n_clients <= 12
        assert set(clients) <= set(memory.clients)
    assert set(memory.clients) > set(range(30, 40))
    assert set(memory.clients) < set(range(25, 40))
    assert memory.limited(3, list(range(30, 35))).clients == tuple(range(30, 35))
    again = with_round(memory, Federation(n=5, dim=8).updates(), [0, 1, 2, 3, 4])
    assert again.heard[again.positions[0]] == 1


def test_ten_thousand_new_ids_take_no_more_room_than_those_that_are_kept():
    memory, federation = ClientMemory(), Federation(n=500, dim=8)
    for start in range(0, 10_000, 500):
        clients = [f"{start + i}" for i in range(500)]
        memory = with_round(memory, federation.updates(), clients).limited(700, clients)
    assert memory.n_clients == 700
    assert memory.as_arrays()["rows"].shape == (700, 8)


IDS = [0, 10**30, "x" * 10_000, "\ud800 lone", "é", -3]


def stored():
    memory = after([(Federation(n=6, dim=9).updates(), IDS, set())] * 2)
    return replace(memory, seed=5, n_applied=2).as_arrays()


def test_a_memory_comes_back_from_its_arrays():
    arrays = stored()
    memory = ClientMemory.from_arrays(arrays)
    assert memory.clients == tuple(IDS)
    assert (memory.round, memory.seed, memory.n_applied) == (2, 5, 2)
    for name, values in memory.as_arrays().items():
        np.testing.assert_array_equal(values, arrays[name])
    sent = Federation(n=6, dim=9, seed=1).updates()
    onward = [with_round(one, sent, IDS).as_arrays() for one in (memory, ClientMemory.from_arrays(arrays))]
    np.testing.assert_array_equal(onward[0]["rows"], onward[1]["rows"])


def test_an_empty_memory_comes_back_too():
    assert ClientMemory.from_arrays(ClientMemory().as_arrays()).n_clients == 0


def text(value):
    return np.frombuffer(json.dumps(value).encode(), np.uint8)


DAMAGED = {
    **{f"no {name}": {name: None} for name in ("clients", "counts", "rows", *PER_CLIENT)},
    **{f"{name} is short": {name: stored()[name][:-1]} for name in ("counts", "rows", *PER_CLIENT)},
    **{f"{name} is one number": {name: np.array(1)} for name in ("clients", "counts", "rows", *PER_CLIENT)},
    **{f"{name} is text": {name: np.array(["a"] * 6)} for name in ("counts", "rows", *PER_CLIENT)},
    "rows in float": {"rows": stored()["rows"].astype(np.float64)},
    "flat rows": {"rows": stored()["rows"].ravel()},
    "evidence that is none": {"evidence": np.array([0, 0, 0, 0, 0, np.nan])},
    "heard less than never": {"heard": np.array([-1, 0, 0, 0, 0, 0], np.int32)},
    "counts in float": {"counts": stored()["counts"].astype(np.float64)},
    "ids that are no JSON": {"clients": np.frombuffer(b"[1, 2", np.uint8)},
    "ids that are no text": {"clients": np.frombuffer(b"\xff\xfe\xff\xff", np.uint8)},
    "ids nested too deeply": {"clients": np.frombuffer(b"[" * 100_000, np.uint8)},
    "one id": {"clients": text(3)},
    "ids by name": {"clients": text(dict.fromkeys("abcdef"))},
    "an id that is a list": {"clients": text([0, 1, 2, 3, 4, []])},
    "an id that is true": {"clients": text([0, 1, 2, 3, 4, True])},
    "an id twice": {"clients": text([0, 1, 2, 3, 4, 4])},
    "too few ids": {"clients": text([0, 1])},
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_arrays_are_no_memory(damage):
    arrays = {name: value for name, value in {**stored(), **DAMAGED[damage]}.items() if value is not None}
    with pytest.raises(ValueError, match="this is no memory of clients"):
        ClientMemory.from_arrays(arrays)


def test_everything_remembered_is_stored():
    assert set(stored()) == {"clients", "rows", "counts", *PER_CLIENT}
    fields = set(ClientMemory.__dataclass_fields__)
    assert fields == {"clients", "rows", *COUNTS, *PER_CLIENT}


def test_the_memory_of_version_0_3_is_read_and_its_expelled_clients_stay_so():
    arrays = stored()
    rows = arrays.pop("rows")
    arrays |= {
        "views": np.stack([rows // 2, rows]),
        "since": np.array([4, *[0] * (len(rows) - 1)], np.int32),
    }
    del arrays["certain"], arrays["squares"], arrays["length"]
    memory = ClientMemory.from_arrays(arrays)
    assert memory.expelled.tolist() == [True] + [False] * (memory.n_clients - 1)
    np.testing.assert_array_equal(np.stack(memory.rows.tolist()), rows)
    np.testing.assert_array_equal(memory.squares, (rows.astype(float) ** 2).sum(axis=1))
