"""The audit log: every later edit shows, and no kill breaks the chain."""

import json
import re
import sqlite3

import pytest

from holdfast.ledger import RoundEntry, auditing, open_ledger, verify
from holdfast.ledger.chain import audit_files, flush, hash_of
from holdfast.ledger.entries import canonical
from holdfast.ledger.writing import write_round

from .made import round_entry


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "federation.db"
    with open_ledger(path) as ledger:
        ledger.begin(source="loop", rule="median()")
        for number in range(1, 4):
            ledger.write(round_entry(number))
        ledger.measure(3, accuracy=0.9)
        ledger.decide("ban", "eve", why="sends backdoors")
    return path


def log_of(path):
    return path.with_name("federation.audit.jsonl")


def changed(path, sql):
    raw = sqlite3.connect(path)
    raw.execute(sql)
    raw.commit()
    raw.close()


def test_a_log_that_nobody_touched_holds(path):
    found = verify(path)
    assert found.holds, found
    assert found.n_lines == 6
    assert found.head in str(found)
    lines = [json.loads(line) for line in log_of(path).read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["begin", "round", "round", "round", "measured", "decision"]
    assert lines[3]["standings"] == [["eve", "expelled", 3, 1]]
    assert verify(path, expect=lines[2]["hash"]).holds


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        (lambda lines: [lines[0], lines[1].replace("median", "fedavg"), *lines[2:]], "line 2 was changed"),
        (lambda lines: [*lines[:2], *lines[3:]], "line 3 does not follow"),
        (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "line 2 does not follow"),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], "line 3 does not follow"),
        (lambda lines: lines[:-1], "ends with line 5, and the database knows of 6"),
        (lambda lines: [*lines, "{}"], "line 7 cannot be read"),
        (lambda lines: ["not JSON", *lines[1:]], "line 1 cannot be read"),
        (lambda lines: [], "is in the database, and not in the log"),
    ],
)
def test_an_edited_log_is_detected(path, edit, told):
    log = log_of(path)
    log.write_text("".join(f"{line}\n" for line in edit(log.read_text().splitlines())))
    found = verify(path)
    assert not found.holds
    assert any(told in problem for problem in found.problems), found


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("UPDATE rounds SET model_after = 'ff' WHERE round = 2", "round 2 was changed.*model_after"),
        ("UPDATE rounds SET accuracy = 0.99 WHERE round = 3", "round 3 was changed.*accuracy"),
        ("UPDATE entries SET norm = 0 WHERE seq = 2 AND client = 1", "round 2 was changed.*clients"),
        ("DELETE FROM entries WHERE seq = 2 AND client = 1", "round 2 was changed.*clients"),
        ("UPDATE clients SET id = '\"ann\"' WHERE id = '\"eve\"'", "round 1 was changed.*clients"),
        ("DELETE FROM rounds WHERE round = 3", "round 3 is gone"),
        ("UPDATE rounds SET undone = 'so' WHERE round = 2", "round 2 was changed.*undone"),
        ("UPDATE rounds SET notes = '[]', attack_success = 0 WHERE round = 2", "round 2.*attack_success"),
        ("UPDATE standings SET standing = 'clear'", "round 3 was changed.*its verdicts"),
        ("UPDATE places SET xy = zeroblob(32) WHERE seq = 1", "round 1 was changed.*its verdicts"),
        ("UPDATE clients SET standing = 'clear'", '"eve".*how it stands now'),
        ("UPDATE clients SET decided = NULL", '"eve".*what is decided'),
        ("UPDATE decisions SET by = 'bob'", "decision 1 was changed"),
        ("DELETE FROM decisions", "decision 1 is gone"),
        ("UPDATE decisions SET why = ''", "decision 1 was changed"),
    ],
)
def test_an_edited_database_is_detected(path, sql, told):
    changed(path, sql)
    found = verify(path)
    assert any(re.search(told, problem) for problem in found.problems), found


def test_what_a_training_writes_during_an_audit_is_no_problem(path, monkeypatch):
    """The log is read after the tables; it may have grown in between."""
    lines = auditing._lines
    with open_ledger(path) as ledger:

        def growing(*args):
            ledger.write(RoundEntry(round=8, rule="median()"))
            ledger.decide("ban", 2)
            yield from lines(*args)
            ledger.write(RoundEntry(round=9, rule="median()"))

        before = verify(path)
        monkeypatch.setattr(auditing, "_lines", growing)
        during = verify(path)
    monkeypatch.undo()
    assert before.holds, before
    assert during.holds, during
    assert during.n_lines == before.n_lines + 2
    assert verify(path, expect=during.head).holds


def test_lines_that_no_training_knows_of_are_detected(path):
    last = json.loads(log_of(path).read_text().splitlines()[-1])
    line = {"number": last["number"] + 1, "previous": last["hash"], "kind": "note", "at": 0.0}
    with log_of(path).open("a") as file:
        file.write(canonical({**line, "hash": hash_of(line)}) + "\n")
    assert f"the log ends with line {line['number']}" in verify(path).problems[0]


def test_a_chain_that_was_made_anew_lacks_the_head_that_was_kept_elsewhere(path, tmp_path):
    kept = verify(path).head
    path.unlink()
    log_of(path).unlink()
    with open_ledger(path) as ledger:
        ledger.write(round_entry(1))
    assert verify(path).holds
    assert "is not in the log" in verify(path, expect=kept).problems[0]


def test_half_a_line_of_a_killed_process_is_completed(path):
    whole = log_of(path).read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for n_written in (0, 1, len(last) // 2, len(last) - 1):
        log_of(path).write_bytes(whole[: -len(last)] + last[:n_written])
        line = last.decode().strip()
        number = json.loads(line)["number"]
        raw = sqlite3.connect(path)
        raw.execute("INSERT INTO outbox VALUES (?, ?)", (number, line))
        raw.commit()
        raw.close()
        assert verify(path).holds  # before it is carried over
        with open_ledger(path):
            pass
        assert log_of(path).read_bytes() == whole
        assert verify(path).holds


def test_a_line_that_was_written_before_a_kill_is_not_written_twice(path):
    whole = log_of(path).read_bytes()
    line = whole.splitlines()[-1].decode()
    changed(path, f"INSERT INTO outbox VALUES ({json.loads(line)['number']}, '{line}')")
    with open_ledger(path):
        pass
    assert log_of(path).read_bytes() == whole


def test_what_somebody_wrote_behind_the_last_line_stays_and_shows(path):
    with log_of(path).open("a") as file:
        file.write("half a line of a stranger")
    with open_ledger(path) as ledger:
        ledger.write(round_entry(4))
    assert "line 7 cannot be read" in verify(path).problems[0]


def test_the_log_rotates_and_the_chain_goes_on(path):
    with open_ledger(path) as ledger:
        for number in range(4, 8):
            ledger._connection.execute("BEGIN")
            write_round(ledger._connection, round_entry(number), at=1.0)
            ledger._connection.execute("COMMIT")
            flush(ledger._connection, path, most_bytes=100)
    assert [one.name for one in audit_files(path)] == [
        *(f"federation.audit.{number}.jsonl" for number in range(1, 5)),
        "federation.audit.jsonl",
    ]
    assert verify(path).holds
    (path.parent / "federation.audit.2.jsonl").unlink()
    assert not verify(path).holds


def test_a_log_that_cannot_be_written_waits_in_the_ledger(path, caplog):
    log_of(path).rename(path.parent / "aside")
    log_of(path).mkdir()
    with open_ledger(path) as ledger:
        ledger.write(round_entry(4))
        assert "Its lines wait in the ledger" in caplog.text
        log_of(path).rmdir()
        (path.parent / "aside").rename(log_of(path))
        ledger.write(round_entry(5))
    assert verify(path).holds
    assert verify(path).n_lines == 8
