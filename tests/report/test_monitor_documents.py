"""The document behind the live page, from ledgers that real rounds wrote."""

import json
import shlex
import sqlite3

import numpy as np
import pytest
from typer.testing import CliRunner

from holdfast import defend, factions, median
from holdfast.cli.commands import app
from holdfast.errors import InputError
from holdfast.ledger import ClientEntry, Ledger, RoundEntry, open_ledger, record_round
from holdfast.report.monitor import write_monitor_page
from holdfast.report.monitor.source import LedgerSource
from holdfast.report.monitor.words import _found, banner, next_steps

from .conftest import HOSTILE
from .ledgers import ATTACKERS, HONEST, Federation


@pytest.fixture
def federation(tmp_path):
    return Federation(tmp_path / "federation.db")


def written(path, *rounds):
    with open_ledger(path) as ledger:
        for entry in rounds:
            ledger.write(entry)


def a_round(number, *clients, **facts):
    return RoundEntry(round=number, rule="median()", clients=clients, **facts)


def rows(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_who_votes_together_is_told_in_one_sentence(federation):
    federation.round(6)
    said = LedgerSource(federation.path).document()["banner"]
    assert said["level"] == "expelled"
    assert said["sentence"] == (
        "3 of 10 clients vote together against all others and are expelled since round 5."
    )
    assert said["further"] == [
        "They are eve, mallory, trudy.",
        "The model went back to its start in round 5.",
    ]


def test_copies_are_told_of_though_nobody_is_suspected(tmp_path):
    path, rng = tmp_path / "federation.db", np.random.default_rng(0)
    with open_ledger(path) as ledger:
        for number in (1, 2, 3, 4):
            rows = rng.normal(size=(12, 300))
            rows[3], rows[6], rows[9] = rows[1], 0, rows[9] * 9
            watched = {"watch": factions(hearing=0), "rng": rng, "clients": range(12)}
            record_round(ledger, defend(rows, median, explain=True, **watched), round=number)
    found = LedgerSource(path).document()
    said = found["banner"]
    assert (said["level"], said["sentence"]) == ("attention", "The watch suspects none of the 12 clients.")
    assert said["further"] == [
        "In round 4, 2 clients sent the same model: 1, 3.",
        "In round 4, 1 client sent the global model unchanged: 6.",
        "1 client sent long updates in at least its last 4 rounds: 9.",
    ]
    remarks = {one["name"]: one["remarks"] for one in rows_in(found) if one["remarks"]}
    assert remarks == {
        "1": "sent the same as client 3",
        "3": "sent the same as client 1",
        "6": "sent the global model unchanged",
        "9": "long updates in its last 4 rounds",
    }


def rows_in(document):
    return rows({name: document["clients"][name] for name in ("name", "remarks")})


def test_while_the_server_listens_that_is_said(federation):
    federation.round(1)
    said = LedgerSource(federation.path).document()["banner"]
    assert said["level"] == "hearing"
    assert "nothing is applied until they were heard" in said["sentence"]


def test_an_honest_federation_is_clear(tmp_path):
    federation = Federation(tmp_path / "federation.db", attackers=(), honest=(*HONEST, "x", "y", "z"))
    federation.round(4)
    said = LedgerSource(federation.path).document()["banner"]
    assert (said["level"], said["further"]) == ("clear", [])


def test_a_watch_that_looks_for_nobody_does_not_say_that_all_are_clear():
    clients = [{"standing": "too early to tell", "since": None, "faction": None}] * 9
    assert _found(clients, [{}], "node") == (
        "unwatched",
        "The watch looks for nobody: it needs 10, and has heard 9 nodes.",
    )
    assert _found([*clients, *clients], [{}], "node")[0] == "clear"


def test_without_a_watch_nobody_is_said_to_be_clear(tmp_path):
    federation = Federation(tmp_path / "federation.db", watch=False)
    federation.round(2)
    found = LedgerSource(federation.path).document()
    assert found["banner"]["level"] == "unwatched"
    assert "No watch looks for attackers" in found["banner"]["sentence"]
    assert found["map_rounds"] == found["frames"] == []


def test_who_is_only_reported_keeps_its_say_in_words_too():
    named = [{"id": n, "standing": "suspected", "since": 4, "faction": 1} for n in range(3)]
    rest = [{"id": n, "standing": "clear", "since": None, "faction": None} for n in range(3, 9)]
    said = banner({"federation": {}}, [*named, *rest], [{"round": 5}])
    assert said["level"] == "suspected"
    assert "3 of 9 clients vote together" in said["sentence"]
    assert "since round 4. The watch only reports: they keep their say." in said["sentence"]


def test_replies_that_cannot_be_used_are_told_apart_from_clients_kept_out(federation):
    federation.round(6)
    federation.round(2, broken=["ann"])
    found = LedgerSource(federation.path).document()
    assert found["drops"] == [[7, 8, 2, "ann", "holds NaN, infinite or overflowing values"]]
    assert "In round 8, 1 of 10 replies could not be used." in found["banner"]["further"]
    assert found["n_broken"] == 1


def test_a_newcomer_without_a_say_yet_is_kept_out_not_broken(federation):
    federation.round(3)
    federation.honest = (*HONEST, "zoe")
    federation.round(1)
    found = LedgerSource(federation.path).document()
    assert found["drops"] == []
    with open_ledger(federation.path, read_only=True) as ledger:
        assert ledger.client("zoe")["reason"].startswith("new: it has a say")


def test_an_update_has_only_what_is_new(federation):
    federation.round(8)
    source = LedgerSource(federation.path)
    first = source.document()
    federation.round(1, broken=["ann"])
    update = source.document(last=first["last"])
    assert update["since"] == 8
    assert update["timeline"]["rounds"] == [9]
    assert {len(letters) for name in ("fates", "standings") for letters in update["timeline"][name]} == {1}
    assert [frame["round"] for frame in update["frames"]] == [9]
    assert update["rounds"]["round"] == [6, 7, 8, 9]  # what is measured of the model may come later
    whole = source.document()
    for kind in ("fates", "standings"):
        joined = [
            old + new for old, new in zip(first["timeline"][kind], update["timeline"][kind], strict=True)
        ]
        assert joined == whole["timeline"][kind]


def test_what_was_measured_after_the_round_comes_with_the_next_update(federation):
    federation.round(3)
    source = LedgerSource(federation.path)
    first = source.document()
    with open_ledger(federation.path) as ledger:
        ledger.measure(3, accuracy=0.625)
    update = source.document(last=first["last"])
    assert update["tag"] != first["tag"]
    assert update["rounds"]["accuracy"][-1] == 0.625


def test_a_round_that_is_made_again_is_told_from_the_beginning(federation):
    federation.round(4)
    source = LedgerSource(federation.path)
    first = source.document()
    with open_ledger(federation.path) as ledger:
        ledger.undo(after=2, why="test")
    again = source.document(last=first["last"])
    assert again["since"] == 0
    assert again["timeline"]["rounds"] == [1, 2]


def test_a_ban_shows_without_a_new_round(federation):
    federation.round(3)
    source = LedgerSource(federation.path)
    first = source.document()
    with open_ledger(federation.path) as ledger:
        ledger.decide("ban", "gus", why="asked to", by="ann")
    update = source.document(last=first["last"])
    assert update["banned"] == [HONEST.index("gus")]
    assert "1 client is banned by an operator." in update["banner"]["further"]
    assert [(one["client"], one["action"], one["why"]) for one in update["decisions"]] == [
        ("gus", "ban", "asked to")
    ]


def test_of_clients_who_took_no_part_only_the_accused_are_told_again(federation):
    federation.round(6)
    source = LedgerSource(federation.path)
    first = source.document()
    federation.honest, federation.attackers = HONEST[:4], ()
    federation.round(1)
    update = source.document(last=first["last"])
    names = [first["clients"]["name"][place] for place in update["clients"]["place"]]
    assert names == [*HONEST[:4], *ATTACKERS]
    assert set(update["clients"]["name"]) == {None}  # known already


def test_ids_that_look_alike_have_names_that_differ(tmp_path):
    path = tmp_path / "federation.db"
    ids = [7, "7", "x" * 200 + "a", "x" * 200 + "b", "a\nb", "a\\nb"]
    written(path, a_round(1, *(ClientEntry(client=one, used=True) for one in ids)))
    clients = rows(LedgerSource(path).document()["clients"])
    assert len({one["name"] for one in clients}) == len(ids)
    assert [one["name"] for one in clients[:2]] == ["7", '"7"']


@pytest.mark.parametrize(
    "client",
    [7, "7", -7, "-7", '"ann"', '"', "--help", "-x", "x; reboot", "$(reboot)", "'; reboot #", "ü ö", HOSTILE],
)
def test_the_commands_mean_the_client_whatever_its_id_is(tmp_path, client):
    path = tmp_path / "my ledger.db"
    others = [one for one in (7, "ann", "x") if one != client]
    written(path, a_round(1, *(ClientEntry(client=one, used=True) for one in (client, *others))))
    accused = [{"id": client, "standing": "expelled", "since": 1}]
    for step in next_steps(accused, path=str(path)):
        words = shlex.split(step["command"])
        assert words[0] == "holdfast"
        done = CliRunner().invoke(app, words[1:])
        assert done.exit_code == 0, done.output
    with open_ledger(path, read_only=True) as ledger:
        decided = [(one["client"], one["action"]) for one in ledger.decisions()]
    assert decided == [(client, "ban"), (client, "pardon")]


def test_an_id_that_no_terminal_shows_gets_no_command():
    unshown = [{"id": "x\x1b[2J\n", "standing": "expelled", "since": 1}]
    assert [step["command"] for step in next_steps(unshown, path="a.db")] == [
        "holdfast clients list --ledger a.db"
    ]


def test_a_ledger_that_is_not_there_yet_is_waited_for(tmp_path):
    source = LedgerSource(tmp_path / "federation.db")
    assert source.document()["banner"]["sentence"] == "No round has ended yet."
    written(source.path, a_round(1))
    assert source.document()["last"] == 1


def test_a_page_of_no_ledger_is_refused_in_words(tmp_path):
    with pytest.raises(InputError, match="no ledger at"):
        write_monitor_page(tmp_path / "absent.db", tmp_path / "page.html")
    (tmp_path / "text.db").write_text("not a database " * 100)
    with pytest.raises(InputError, match="cannot be read as a ledger"):
        write_monitor_page(tmp_path / "text.db", tmp_path / "page.html")


def test_numbers_that_json_does_not_know_stop_nothing(federation):
    federation.round(2)
    with sqlite3.connect(federation.path) as connection:  # as somebody else might have written it
        connection.execute("UPDATE rounds SET accuracy = 9e999, kept_fraction = -9e999")
    connection.close()
    found = json.loads(LedgerSource(federation.path).answer())
    assert found["rounds"]["accuracy"] == [None, None]
    assert found["banner"]["further"] == []


def test_a_round_that_waits_for_a_decision_comes_first(federation):
    federation.round(6)
    with open_ledger(federation.path) as ledger:
        ledger.ask({"eve": "expel?"}, round=7, deadline=2e9)
    found = LedgerSource(federation.path).document()
    assert found["banner"]["level"] == "asking"
    assert found["banner"]["sentence"] == "Round 7 waits for your decision on client eve."
    assert found["banner"]["further"][0] == "Without one, the policy decides at 2033-05-18 03:33 UTC."
    assert "3 of 10 clients vote together" in found["banner"]["further"][1]
    assert found["next"][2]["command"].startswith("holdfast clients pardon eve")
    with open_ledger(federation.path) as ledger:
        ledger.decide("pardon", "eve")
    assert LedgerSource(federation.path).document()["banner"]["level"] == "expelled"


def test_why_a_training_stopped_is_told(federation):
    federation.round(6)
    with open_ledger(federation.path) as ledger:
        ledger.note(stopped="the policy says so")
    said = LedgerSource(federation.path).document()["banner"]
    assert (said["level"], said["sentence"]) == ("stopped", "The training was stopped: the policy says so.")


def test_what_is_written_while_a_document_is_made_belongs_to_the_next(federation, monkeypatch):
    federation.round(3)
    source = LedgerSource(federation.path)
    first = source.document()
    read = Ledger.timeline

    def late(ledger, since=0):
        monkeypatch.setattr(Ledger, "timeline", read)
        federation.honest = (*HONEST, "zoe")
        federation.round(1)
        return read(ledger, since)

    federation.round(1)
    monkeypatch.setattr(Ledger, "timeline", late)
    update = source.document(last=first["last"])
    assert update["timeline"]["rounds"] == update["rounds"]["round"][-1:] == [4]
    assert {len(letters) for letters in update["timeline"]["fates"]} == {1}
    assert len(update["timeline"]["fates"]) == update["n_clients"] == 10
    after = source.document(last=update["last"])
    assert after["timeline"]["rounds"] == [5]
    assert "zoe" in after["clients"]["name"]
