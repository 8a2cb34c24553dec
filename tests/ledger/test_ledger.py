"""What goes into a ledger, and what comes out of it."""

import json
import os
import sqlite3
import stat
import subprocess
import sys
import uuid
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.ledger import fill
from holdfast import defend, factions, invariant, krum, median
from holdfast._support.locks import lock_of
from holdfast.core.diagnostics import Diagnostics, Dropped
from holdfast.errors import DataError, InputError
from holdfast.ledger import (
    ClientEntry,
    RoundEntry,
    entry_of,
    model_hash,
    open_ledger,
    record_round,
    schema,
    verify,
)
from holdfast.ledger.schema import MIGRATIONS, VERSION, migrate
from holdfast.ledger.writing import write_round
from holdfast.watching import Verdict, Verdicts

from .made import CLIENTS, round_entry


@pytest.fixture
def path(tmp_path):
    return tmp_path / "federation.db"


@pytest.fixture
def ledger(path):
    with open_ledger(path) as opened:
        yield opened


def test_what_is_written_of_a_round_is_read_back(ledger):
    ledger.write(round_entry(1, model_before="aa", model_after="bb", seconds=2.5, metrics={"n": 3}), at=99.0)
    (found,) = ledger.rounds()
    expected = {"round": 1, "at": 99.0, "rule": "median()", "aggregated": True, "hearing": False}
    expected |= {"n_asked": 4, "n_used": 4, "n_dropped": 0, "kept_fraction": 0.5, "tolerates": 1}
    expected |= {"shared": 0.25, "model_before": "aa", "model_after": "bb", "seconds": 2.5}
    expected |= {"accuracy": None, "metrics": {"n": 3}, "notes": [], "undone": None}
    assert {name: found[name] for name in expected} == expected


def test_a_number_and_a_text_that_look_alike_are_two_clients(ledger):
    ledger.write(round_entry(1))
    assert [one["id"] for one in ledger.clients()] == list(CLIENTS)
    assert ledger.client(7)["norm"] == 1.0
    assert ledger.client("7")["norm"] == 2.0


def test_a_client_has_its_history_and_what_was_last_measured_of_it(ledger):
    for number in range(1, 5):
        ledger.write(round_entry(number))
    eve = ledger.client("eve")
    told = {"standing": "expelled", "since": 3, "faction": 1, "false_alarm": 0.002, "heard": 4}
    told |= {"first_round": 1, "last_round": 4, "n_used": 2, "n_dropped": 2, "banned": False, "code": 13}
    assert {name: eve[name] for name in told} == told
    assert [(one["round"], one["used"]) for one in eve["entries"]] == [
        (1, True),
        (2, True),
        (3, False),
        (4, False),
    ]
    assert [(one["round"], one["standing"]) for one in eve["standings"]] == [(1, "clear"), (3, "expelled")]
    with pytest.raises(InputError, match="no client mallory"):
        ledger.client("mallory")


def test_a_round_in_which_nothing_changes_adds_no_standings(ledger, path):
    for number in range(1, 21):
        ledger.write(round_entry(number))
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT count(*) FROM standings").fetchone()[0] == len(CLIENTS) + 1
    raw.close()


def test_the_overview_counts_and_has_a_word_for_it(ledger):
    assert ledger.overview()["banner"] == "empty"
    ledger.begin(source="loop", rule="median()", min_replies=3)
    ledger.write(round_entry(1))
    assert ledger.overview()["banner"] == "clear"
    for number in (2, 3):
        ledger.write(round_entry(number))
    found = ledger.overview()
    assert (found["banner"], found["n_expelled"], found["n_clients"], found["n_rounds"]) == (
        "expelled",
        1,
        4,
        3,
    )
    assert (found["n_dropped"], found["last"]["round"], found["federation"]["source"]) == (1, 3, "loop")


def test_a_timeline_has_one_character_per_client_and_round(ledger):
    for number in range(1, 5):
        ledger.write(round_entry(number))
    found = ledger.timeline()
    assert found["rounds"] == [1, 2, 3, 4]
    assert dict(zip(found["clients"], found["standings"], strict=True))["eve"] == "ccee"
    assert dict(zip(found["clients"], found["fates"], strict=True))["eve"] == "uudd"
    later = ledger.timeline(since=3)
    assert (later["rounds"], later["standings"][3], later["fates"][3]) == ([4], "e", "d")
    assert ledger.timeline(since=4)["standings"] == [""] * 4


def test_the_map_is_that_of_the_round_that_is_asked_for(ledger):
    assert ledger.map()["clients"] == []
    for number in range(1, 4):
        ledger.write(round_entry(number))
    assert ledger.map()["standings"] == ["clear", "clear", "clear", "expelled"]
    early = ledger.map(2)
    assert (early["round"], early["standings"][3], early["x"][3], early["y"][3]) == (2, "clear", 2.0, -1.0)


def test_a_round_that_is_made_again_counts_once_and_the_first_is_kept(ledger):
    for number in range(1, 5):
        ledger.write(round_entry(number))
    ledger.write(round_entry(3, expelled_in=99))
    assert [one["round"] for one in ledger.rounds()] == [1, 2, 3]
    assert [(one["round"], bool(one["undone"])) for one in ledger.rounds(undone=True)] == [
        (1, False),
        (2, False),
        (3, True),
        (4, True),
        (3, False),
    ]
    eve = ledger.client("eve")
    assert (eve["standing"], eve["n_used"], eve["n_dropped"], eve["last_round"]) == ("clear", 3, 0, 3)


def test_after_a_rewind_everybody_stands_as_in_the_round_that_is_gone_back_to(ledger):
    for number in range(1, 6):
        ledger.write(round_entry(number))
    assert ledger.undo(after=2, why="a backdoor was planted") == [3, 4, 5]
    assert ledger.overview()["banner"] == "clear"
    assert ledger.client("eve")["since"] is None
    assert ledger.timeline()["standings"][3] == "cc"


def test_since_is_counted_in_rounds_of_the_ledger(ledger):
    """A watch does not count rounds that nobody could be heard in."""
    ledger.write(round_entry(9, expelled_in=9, watch_round=6))
    assert ledger.client("eve")["since"] == 9
    ledger.write(round_entry(11, expelled_in=9, watch_round=7))
    assert ledger.client("eve")["since"] == 9


def test_decisions_are_kept_and_the_last_one_counts(ledger):
    ledger.write(round_entry(1))
    ledger.decide("ban", "eve", why="sends backdoors", by="ann")
    assert ledger.client("eve")["banned"]
    assert ledger.overview()["n_banned"] == 1
    ledger.decide("pardon", "eve")
    assert not ledger.client("eve")["banned"]
    assert [(one["client"], one["action"], one["by"]) for one in ledger.decisions()] == [
        ("eve", "ban", "ann"),
        ("eve", "pardon", "operator"),
    ]
    assert ledger.decided() == {"eve": ("pardon", "")}
    with pytest.raises(InputError, match="must be 'ban' or 'pardon'"):
        ledger.decide("hug", "eve")


def test_a_decision_holds_for_a_client_whatever_the_type_of_its_id(ledger):
    node, other = uuid.UUID(int=7), uuid.UUID(int=8)
    ledger.decide("ban", str(node))
    ledger.decide("pardon", str(other))
    ledger.decide("ban", 7)
    assert ledger.is_banned(node)
    assert ledger.is_banned(np.int64(7))
    assert not any(map(ledger.is_banned, (other, "7", "nobody")))
    assert ledger.pardoned() == {str(other)}
    ledger.decide("pardon", node)
    assert not ledger.is_banned(node)
    assert ledger.pardoned() == {str(node), str(other)}


def test_what_is_measured_later_is_added_to_its_round(ledger):
    ledger.write(round_entry(1, metrics={"n": 1}))
    ledger.measure(1, accuracy=0.9, loss=float("inf"), metrics={"f1": 0.5})
    (found,) = ledger.rounds()
    assert (found["accuracy"], found["loss"], found["metrics"]) == (0.9, None, {"f1": 0.5, "n": 1})
    with pytest.raises(InputError, match="round 2 is not in the ledger"):
        ledger.measure(2, accuracy=0.9)


def test_nothing_hostile_keeps_a_round_from_being_written(ledger):
    names = ("\ud800", "a\nb", 2**63, -(2**200), "'; DROP TABLE rounds; --")
    clients = tuple(
        ClientEntry(
            client=name, examples=float("nan"), norm=10**400, reason="\x1b[2J" * 999, duplicate_of=names[0]
        )
        for name in names
    )
    verdicts = Verdicts(1, tuple(Verdict(name, "clear", heard=1, place=(np.nan, 1e300)) for name in names))
    odd = {"x\ud800": [float("inf"), 2**99], "y": object()}
    with np.errstate(over="ignore"):
        ledger.write(RoundEntry(round=1, rule="r", clients=clients, verdicts=verdicts, metrics=odd))
    assert [one["id"] for one in ledger.clients()] == list(names)
    json.dumps([ledger.rounds(), ledger.clients(), ledger.map(), ledger.timeline()], allow_nan=False)


def test_clients_that_send_the_same_are_duplicates_of_the_first():
    rng = np.random.default_rng(0)
    sent = rng.normal(size=(6, 40))
    sent[4], sent[2], sent[5] = sent[1], 0, 0
    result = defend(dict(zip("abcdef", sent, strict=True)), invariant(tau=0.2), like=np.zeros(40))
    entries = {one.client: one for one in entry_of(result.diagnostics, round=1).clients}
    twins = {client: one.duplicate_of for client, one in entries.items()}
    assert twins == {"a": None, "b": None, "c": None, "d": None, "e": "b", "f": "c"}
    assert {client: one.norm for client, one in entries.items() if one.norm is not None} == {"c": 0, "f": 0}


def test_a_duplicate_of_a_client_that_nothing_is_written_of_is_none(ledger):
    said = Diagnostics("median", (), dropped=(Dropped("eve", "late"),), identical=(("ann", "eve"),))
    entry = entry_of(said, round=1)
    ledger.write(entry)
    assert [(one["id"], one["duplicate_of"]) for one in ledger.clients()] == [("eve", None)]


def test_every_client_of_a_group_knows_another_that_sent_the_same(ledger):
    same = Diagnostics("median", ("ann", "bob", "cat", "dan"), identical=(("bob", "cat", "dan"),))
    ledger.write(entry_of(same, round=1))
    ledger.write(entry_of(Diagnostics("median", ("ann", "dan"), unchanged=("ann", "dan")), round=2))
    found = {one["id"]: (one["same_as"], one["remarks"]) for one in ledger.clients()}
    assert found["ann"] == ("dan", ["sent the global model unchanged"])
    assert found["bob"] == ("cat", ["sent the same as client cat"])
    assert found["cat"] == ("bob", ["sent the same as client bob"])
    entries = ledger.client("dan")["entries"]
    assert [(one["duplicate_of"], one["same_as"]) for one in entries] == [("bob", "bob"), ("ann", "ann")]
    assert [one["same_as"] for one in ledger.client("bob")["entries"]] == ["cat"]


def long_round(number, *, long=("eve",), absent=(), broken=(), **measures):
    """Six clients, of whom some send long updates, some take no part, and some cannot be used."""
    names = [name for name in ("ann", "bob", "cat", "dan", "eve", "fay") if name not in (*absent, *broken)]
    norms = np.array([9.0 if name in long else 1.0 + 0.01 * number for name in names])
    dropped = tuple(Dropped(name, "holds NaN") for name in broken)
    return entry_of(Diagnostics("median", tuple(names), dropped, norms=norms, **measures), round=number)


def apart(ledger):
    return {one["id"]: one["apart"] for one in ledger.clients() if one["apart"]}


def test_a_client_stands_apart_from_the_third_long_update_in_a_row_on(ledger):
    seen = []
    for number in range(1, 8):
        ledger.write(long_round(number, long=() if number == 5 else ("eve",)))
        seen.append(apart(ledger))
    assert seen == [{}, {}, {"eve": {"norm": 3}}, {"eve": {"norm": 4}}, {}, {}, {}]
    ledger.write(long_round(8))
    assert ledger.client("eve")["remarks"] == ["long updates in its last 3 rounds"]
    assert ledger.client("ann")["remarks"] == []


def test_rounds_in_which_a_client_took_no_part_do_not_end_its_streak(ledger):
    for number in range(1, 6):
        ledger.write(long_round(number, absent=("eve",) if number in (2, 4) else ()))
    assert apart(ledger) == {"eve": {"norm": 3}}
    ledger.undo(after=4, why="again")
    assert apart(ledger) == {}


def test_where_half_of_the_clients_are_long_nobody_stands_apart(ledger):
    for number in range(1, 5):
        ledger.write(long_round(number, long=("ann", "bob", "cat")))
    assert apart(ledger) == {}


def test_the_other_measures_of_the_log_are_told_of_too(ledger):
    shares = np.array([0.4, 0.41, 0.39, 0.4, 0.95, 0.4])
    for number in range(1, 4):
        ledger.write(long_round(number, long=(), trimmed_share=shares, opposed_share=shares))
    assert apart(ledger) == {"eve": {"trimmed": 3, "opposed": 3}}


def test_a_loop_of_ones_own_writes_what_defend_returned(ledger):
    rng, state, base = np.random.default_rng(0), None, {"w": np.zeros(300, np.float32)}
    own, plot = rng.normal(size=(20, 300)), rng.normal(size=300)
    for number in range(1, 8):
        sent = own + rng.normal(size=own.shape)
        sent[:4] += plot
        models = {f"c{i}": {"w": row.astype(np.float32)} for i, row in enumerate(sent)}
        counts = dict.fromkeys(models, 10.0)
        result = defend(models, median, base=base, watch=factions(), state=state, explain=True, rng=rng)
        record_round(
            ledger, result, round=number, rule=median, base=base, clients=models.keys(), examples=counts
        )
        state, base = result.state, result.model
    assert ledger.overview()["n_expelled"] == 4
    assert [one["n_asked"] for one in ledger.rounds()] == [20] * 7
    last = ledger.rounds()[-1]
    assert (last["n_used"], last["n_dropped"], last["model_after"]) == (16, 4, model_hash(base))
    assert ledger.client("c7")["examples"] == 10.0
    assert ledger.client("c7")["norm"] > 0


#: Hashes as the first ledgers have them: a model that is in one must be known again.
HASHES = {
    "a state dict": ({"w": np.arange(6.0).reshape(2, 3), "b": np.float32(3)}, "1401b0c8c2da1170"),
    "layers": ([np.ones(3), np.zeros((2, 2))], "6bd3df77806cced2"),
    "one array": (np.arange(4.0), "fddf0115bedee84a"),
    "numbers": ([1.0, 2.0], "63fdfbbc799d1b27"),
    "lists of numbers": ({"w": [1.0, 2.0], "k": 3}, "6a11ece8933c7ab9"),
    "a list of equal shapes": ({"heads": [np.zeros(2), np.ones(2)]}, "7eefff8e960e30eb"),
    "names that are numbers": ({0: np.ones(2), 1: np.zeros(1)}, "062a250262b55e99"),
    "another byte order": ({"w": np.arange(3.0).astype(">f8")}, "410076e359739028"),
}


@pytest.mark.parametrize("kind", HASHES)
def test_the_hash_of_a_model_never_changes(kind):
    model, expected = HASHES[kind]
    assert model_hash(model)[:16] == expected


def test_a_model_that_can_be_defended_can_be_recorded(ledger):
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")
    brain = torch.arange(4, dtype=torch.bfloat16, requires_grad=True)
    bases = [
        {"w": brain, "n": torch.tensor(3)},
        {"body": {"w": np.ones(3)}, "heads": [np.ones(2), np.zeros((2, 2))]},
        {"heads": [torch.ones(2, dtype=torch.bfloat16), torch.ones(3)]},
    ]
    for number, base in enumerate(bases, 1):
        result = defend(dict.fromkeys("abc", base), median, base=base)
        entry = record_round(ledger, result, round=number, rule=median, base=base)
        assert entry.model_before == entry.model_after == model_hash(base)
    bits = brain.detach().view(torch.uint16).numpy()
    assert model_hash({"w": brain}) != model_hash({"w": bits})
    assert model_hash({"w": brain}) != model_hash({"w": brain + 1})


def recorded(ledger, number, **facts):
    return record_round(ledger, defend(np.eye(4), median, like=np.zeros(4)), round=number, **facts)


def test_rounds_are_written_by_one_process_at_a_time_and_decisions_by_all(ledger, path):
    writing = "import sys; from holdfast.ledger import *; l = open_ledger(sys.argv[1]);"
    writing += "l.decide('ban', 'eve'); l.write(RoundEntry(round=2, rule='median()')); print('written')"
    command = [sys.executable, "-c", writing, str(path)]
    recorded(ledger, 1)
    other = subprocess.run(command, capture_output=True, text=True, check=False)
    assert f"another training writes {path}: end it, or name another ledger" in other.stderr
    assert ledger.decided() == {"eve": ("ban", "")}
    with open_ledger(path) as second, pytest.raises(InputError, match="another training writes"):
        recorded(second, 2)
    recorded(ledger, 2)
    assert [one["round"] for one in ledger.rounds()] == [1, 2]
    ledger.close()
    assert not lock_of(path).exists()
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.stdout == "written\n", again.stderr


def test_a_loop_of_ones_own_replaces_a_round_only_deliberately(ledger, path):
    for number in (np.int64(1), 2, 5):
        recorded(ledger, number)
    with pytest.raises(
        InputError, match=r"the last round in .* is 5. Continue with round=6, or .*undo\(after=1"
    ):
        recorded(ledger, 2)
    ledger.undo(after=1, why="made again")
    recorded(ledger, 2)
    assert [one["round"] for one in ledger.rounds()] == [1, 2]
    for wrong in (0, -3, 1.5, True, "7", None):
        with pytest.raises(InputError, match="round must be a whole number of at least 1; got"):
            recorded(ledger, wrong)
    ledger.close()
    assert verify(path).holds


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"accuracy": "high"}, "accuracy must be a number; got 'high'"),
        ({"accuracy": "0.9"}, "accuracy must be a number; got '0.9'"),
        ({"loss": True}, "loss must be a number; got True"),
        ({"seconds": np.ones(2)}, "seconds must be a number; got array"),
        ({"acuracy": 0.9}, r"a round has no 'acuracy'; did you mean 'accuracy'\? Put it into metrics="),
        ({"metrics": [1]}, "metrics must be a mapping of names to values; got list"),
    ],
)
def test_a_fact_that_is_no_number_is_refused(ledger, facts, said):
    with pytest.raises(InputError, match=said):
        recorded(ledger, 1, **facts)
    assert not ledger.rounds()


def test_numbers_of_any_library_are_facts_and_those_that_are_not_finite_are_unknown(ledger):
    recorded(ledger, 1, accuracy=np.float32(0.5), loss=float("nan"), seconds=3, attack_success=np.array(0.25))
    (found,) = ledger.rounds()
    assert [found[name] for name in ("accuracy", "loss", "seconds", "attack_success")] == [0.5, None, 3, 0.25]


def test_a_reader_sees_the_last_whole_round_while_the_next_one_is_written(ledger, path):
    ledger.write(round_entry(1))
    with open_ledger(path, read_only=True) as reader:
        ledger._connection.execute("BEGIN IMMEDIATE")
        ledger._connection.execute("DELETE FROM rounds")
        assert len(reader.rounds()) == 1
        ledger._connection.execute("ROLLBACK")
        ledger.write(round_entry(2))
        assert len(reader.rounds()) == 2
        with pytest.raises(DataError, match=r"could not be written.*readonly"):
            reader.decide("ban", "eve")


def test_only_its_owner_may_read_a_new_ledger(ledger, path):
    ledger.write(round_entry(1))
    for file in {*path.parent.iterdir()} - {lock_of(path)}:  # which holds nothing
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_can_be_read(path):
    with open_ledger(path) as ledger:
        ledger.write(round_entry(1))
    path.parent.chmod(0o500)
    with open_ledger(path, read_only=True) as ledger:
        assert len(ledger.rounds()) == 1


def test_what_is_no_ledger_is_an_error_that_names_the_file(tmp_path):
    with pytest.raises(DataError, match=r"no ledger at .*nowhere\.db"):
        open_ledger(tmp_path / "nowhere.db", read_only=True)
    (tmp_path / "text.db").write_text("not a database, and long enough for its head to be read" * 9)
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE mine(x)")
    other.commit()
    other.close()
    for read_only in (True, False):
        with pytest.raises(DataError, match=r"text\.db cannot be opened as a ledger"):
            open_ledger(tmp_path / "text.db", read_only=read_only)
        with pytest.raises(DataError, match=r"other\.db is a database, but no ledger"):
            open_ledger(tmp_path / "other.db", read_only=read_only)
    with pytest.raises(InputError, match="cannot be written"):
        open_ledger(tmp_path / "text.db" / "below.db")


def test_a_ledger_of_a_newer_version_is_left_alone(ledger, path):
    ledger._connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    for read_only in (True, False):
        with pytest.raises(DataError, match="install a newer one"):
            open_ledger(path, read_only=read_only)


def test_a_rule_whose_settings_are_numbers_of_numpy_is_recorded(path):
    rule = krum(n_malicious=np.int64(2))
    with open_ledger(path) as ledger:
        record_round(ledger, defend(np.random.default_rng(0).normal(size=(9, 4)), rule), round=1, rule=rule)
        assert ledger.rounds()[0]["tolerates"] == 2
    assert verify(path).holds


def test_what_a_killed_training_asked_holds_nothing_once_it_starts_again(path):
    with open_ledger(path) as ledger:
        ledger.write(round_entry(1))
        ledger.ask({"eve": "what of her?"}, round=2, deadline=2e9)
        assert ledger.overview()["banner"] == "held"
        ledger.begin(after=1, source="loop")
        assert ledger.overview()["banner"] != "held"
        ledger.ask({"eve": "what of her?"}, round=2, deadline=3e9)
        ledger.decide("pardon", "eve")
        assert [one["answered"] for one in ledger.requests()] == ["restart", "pardon"]


@pytest.mark.parametrize("name", ["federation.db", "federation.2026"])
def test_a_new_ledger_does_not_take_over_the_audit_log_of_another(tmp_path, name):
    old = tmp_path / "federation.db"
    with open_ledger(old) as ledger:
        ledger.write(round_entry(1))
    if name == old.name:
        for file in tmp_path.glob("federation.db*"):
            file.unlink()
    for _ in range(2):
        with pytest.raises(DataError, match=r"federation.audit.jsonl beside it is the log of another one"):
            open_ledger(tmp_path / name)
    (tmp_path / "federation.audit.jsonl").unlink()
    with open_ledger(tmp_path / name) as ledger:
        ledger.write(round_entry(1))
    assert verify(tmp_path / name).holds


def test_an_empty_file_becomes_a_ledger_of_today(path):
    path.touch()
    with open_ledger(path) as ledger:
        ledger.write(round_entry(1))
        assert ledger._connection.execute("PRAGMA user_version").fetchone()[0] == VERSION == len(MIGRATIONS)


def test_an_older_ledger_is_migrated_and_nothing_of_it_is_lost(path):
    raw = sqlite3.connect(path, isolation_level=None)
    migrate(raw, path=path, to=1)  # as the first version had it, without questions to the operator
    write_round(raw, round_entry(1), at=1.0)
    assert raw.execute("PRAGMA user_version").fetchone()[0] == 1
    raw.close()
    with open_ledger(path, read_only=True) as ledger:  # even for whoever only reads
        assert [one["round"] for one in ledger.rounds()] == [1]
        assert ledger.requests() == []
    with open_ledger(path) as ledger:
        ledger.write(round_entry(2))
        ledger.ask({"eve": "what of her?"}, round=2, deadline=9.0)
        assert ledger.overview()["banner"] == "held"
        ledger.decide("ban", "eve")
        assert ledger.requests()[0]["answered"] == "ban"
    assert verify(path).holds


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(path, monkeypatch):
    with open_ledger(path) as ledger:
        ledger.write(round_entry(1))
    monkeypatch.setattr(schema, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE new(x); CREATE TABLE rounds(y)"))
    monkeypatch.setattr(schema, "VERSION", VERSION + 1)
    raw = sqlite3.connect(path, isolation_level=None)
    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        migrate(raw, path=path, to=VERSION + 1)
    assert raw.execute("PRAGMA user_version").fetchone()[0] == VERSION
    assert raw.execute("SELECT count(*) FROM sqlite_master WHERE name = 'new'").fetchone()[0] == 0
    raw.close()


def test_a_thousand_clients_take_little_room(path):
    with open_ledger(path) as ledger:
        fill(ledger, n_clients=1_000, n_rounds=6)
        found = ledger.timeline()
    assert path.stat().st_size < 1_500_000
    assert len(found["standings"]) == 1_000
    assert all(len(line) == 6 for line in found["fates"])


def test_an_entry_says_who_was_asked_and_never_told_of():
    said = Diagnostics(rule="median", clients=("ann",))
    entry = entry_of(said, round=1, asked=["ann", "bob"])
    assert [(one.client, one.asked, one.used) for one in entry.clients] == [
        ("ann", True, True),
        ("bob", True, False),
    ]
    assert not entry_of(replace(said, aggregated=False), round=1).clients[0].used
