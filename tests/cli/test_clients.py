"""holdfast clients and holdfast rewind: what an operator sees and decides."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from holdfast import defend, factions, median
from holdfast.cli.clients_shown import client_history, client_table
from holdfast.cli.commands import app
from holdfast.ledger import open_ledger, record_round, verify

from ..ledger.made import round_entry


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "federation.db"
    with open_ledger(path) as ledger:
        for number in range(1, 5):
            ledger.write(round_entry(number))
    return path


def run(*args, code=0):
    done = CliRunner().invoke(app, [str(arg) for arg in args])
    assert done.exit_code == code, done.output
    return done.output


def test_the_list_says_how_everybody_stands(path):
    said = run("clients", "list", "--ledger", path).splitlines()
    assert said[0] == "4 rounds, 4 clients: 1 expelled, 0 suspected, 0 banned"
    assert said[1].split() == [
        *(
            "client",
            "standing",
            "since",
            "faction",
            "used",
            "dropped",
            "length",
            "trimmed",
            "opposed",
            "last",
        ),
    ]
    assert said[2].split() == ["eve", "expelled", "3", "1", "2", "2", "-", "-", "-", "4"]
    assert said[-1] == f"More about one: holdfast clients show CLIENT --ledger {path}"
    named = run("clients", "list", "--ledger", path, "--only", "named").splitlines()
    assert [line.split()[0] for line in named[1:-1]] == ["client", "eve"]
    found = json.loads(run("clients", "list", "--ledger", path, "--json"))
    assert [one["id"] for one in found["clients"]] == [7, "7", "bob", "eve"]


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("all", "Nobody has taken part yet."),
        ("named", "Nobody is suspected or expelled."),
        ("banned", "Nobody is banned or pardoned."),
        ("dropped", "Nobody was dropped."),
    ],
)
def test_a_list_of_nobody_says_so(only, said, tmp_path):
    with open_ledger(tmp_path / "new.db"):
        pass
    assert run("clients", "list", "--ledger", tmp_path / "new.db", "--only", only).splitlines()[1:] == [said]


def test_a_client_that_is_clear_votes_with_nobody():
    one = client("ann", faction=1, since=None)
    standings = [{"round": 2, "standing": standing, "faction": 1, "false_alarm": 0.5} for standing in NAMES]
    history = {**one, "first_round": 1, "decisions": [], "entries": [], "standings": standings}
    told = [line for line in client_history(history) if "from round" in line]
    assert told[0].startswith("  from round 2: suspected, votes with faction 1, false alarm")
    assert told[1].startswith(
        "  from round 2: clear, nearest to faction 1 but no more than honest clients may"
    )
    assert "faction" not in next(client_table([one]))


NAMES = ("suspected", "clear")


def client(id, standing="clear", **more):
    empty = dict.fromkeys(("since", "faction", "norm", "trimmed", "opposed", "last_round"))
    counts = {"n_used": 1, "n_dropped": 0, "banned": False, "pardoned": False, "former": False, "remarks": []}
    return {"id": id, "standing": standing, **empty, **counts, **more}


def test_a_client_that_the_warnings_name_in_a_row_is_not_just_clear(tmp_path):
    """Long updates, each in its own direction: the watch finds no faction, and says so."""
    path, rng, state = tmp_path / "federation.db", np.random.default_rng(0), None
    with open_ledger(path) as ledger:
        for number in range(1, 6):
            rows = rng.normal(size=(12, 300))
            rows[4] *= 9
            watched = {"watch": factions(hearing=0), "state": state, "rng": rng, "clients": range(12)}
            result = defend(rows, median, explain=True, **watched)
            record_round(ledger, result, round=number)
            state = result.state
    (line,) = [line for line in run("clients", "list", "--ledger", path).splitlines()[2:] if "long" in line]
    assert line.split()[:2] == ["4", "clear"]
    assert "long updates in its last 5 rounds" in line
    assert run("clients", "list", "--ledger", path).splitlines()[2] == line  # it stands first
    said = run("clients", "show", "4", "--ledger", path).splitlines()
    assert said[0] == "client 4: clear, long updates in its last 5 rounds"
    other = run("clients", "show", "5", "--ledger", path).splitlines()
    assert other[0] == "client 5: clear"


def test_copies_are_shown_with_every_client_of_the_group(tmp_path):
    path, rows = tmp_path / "federation.db", np.random.default_rng(0).normal(size=(6, 50))
    rows[1], rows[3] = rows[2], 0
    with open_ledger(path) as ledger:
        record_round(ledger, defend(rows, median, clients=range(6)), round=1)
    said = run("clients", "list", "--ledger", path).splitlines()
    assert [line.split()[0] for line in said[2:5]] == ["1", "2", "3"]
    assert "sent the same as client 2" in said[2]
    assert "sent the global model unchanged" in said[4]
    assert "the same as client 1 sent" in run("clients", "show", "2", "--ledger", path)


def test_the_most_suspicious_stand_first_and_ids_are_counted_as_numbers():
    clients = [
        client(10),
        client(2, remarks=["long updates in its last 3 rounds"]),
        client(9),
        client("n2", "suspected"),
        client(3, n_dropped=1),
        client(4, "expelled"),
    ]
    clients.append(client(5, banned=True))
    rows = [line.split() for line in client_table(clients)]
    assert [row[0] for row in rows] == ["client", "5", "4", "n2", "2", "3", "9", "10"]
    # Nobody has anything else.
    assert rows[0] == ["client", "standing", "remark", "decided", "used", "dropped"]
    assert [row[3] for row in rows[1:3]] == ["banned", "-"]


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_on_a_narrow_terminal_the_first_columns_are_shown(columns, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    known = {"since": 3, "faction": 1, "norm": 0.25, "trimmed": 0.5, "opposed": 0.25, "last_round": 9}
    lines = list(client_table([client(2**63 + number, "expelled", **known) for number in range(3)]))
    assert max(map(len, lines)) <= columns
    assert lines[1].startswith(f"{2**63}  expelled")
    assert ("opposed" in lines[0]) == (columns > 80)


def test_one_client_is_shown_with_its_history(path):
    said = run("clients", "show", "eve", "--ledger", path)
    assert said.startswith("client eve: expelled\n")
    assert "used in 2 rounds, dropped in 2 rounds" in said
    assert "from round 3: expelled, votes with faction 1, false alarm 0.002" in said
    assert "round 2: used, length 4, cosine 0.90, trimmed 25%, opposed 12%" in said
    assert "round 4: expelled since round 3" in said
    assert len(json.loads(run("clients", "show", "bob", "--ledger", path, "--json"))["entries"]) == 4


def test_a_ban_and_a_pardon_are_in_the_ledger_with_who_and_why(path):
    said = run("clients", "ban", "bob", "--ledger", path, "--why", "wrong data", "--by", "ann")
    assert said == "client bob is banned; a running training follows in its next round\n"
    run("clients", "pardon", "eve", "--ledger", path)
    with open_ledger(path, read_only=True) as ledger:
        found = ledger.decisions()
    assert [(one["client"], one["action"], one["why"]) for one in found] == [
        ("bob", "ban", "wrong data"),
        ("eve", "pardon", ""),
    ]
    assert found[0]["by"] == "ann"
    assert "after round 4: ban by ann: wrong data" in run("clients", "show", "bob", "--ledger", path)
    assert verify(path).holds


def test_a_client_that_is_a_number_and_a_text_must_be_told_apart(path):
    assert "there are two clients 7" in run("clients", "ban", "7", "--ledger", path, code=1)
    run("clients", "ban", '"7"', "--ledger", path)
    with open_ledger(path, read_only=True) as ledger:
        assert ledger.decided() == {"7": ("ban", "")}


def test_an_unknown_client_is_an_error_with_a_hint(path):
    assert "no client bub" in (said := run("clients", "ban", "bub", "--ledger", path, code=1))
    assert "'bob'" in said


def test_a_ledger_that_is_not_there_is_not_made(tmp_path):
    for command in (("list",), ("show", "bob"), ("ban", "bob"), ("pardon", "bob"), ("audit",)):
        assert "no ledger at" in run("clients", *command, "--ledger", tmp_path / "nowhere.db", code=1)
    gone = ("--ledger", tmp_path / "nowhere.db", "--checkpoint", tmp_path / "training.npz", "--to", 1)
    assert "no ledger at" in run("rewind", *gone, code=1)
    assert not list(tmp_path.iterdir())


def test_the_audit_exits_with_3_once_somebody_has_edited_the_log(path):
    said = run("clients", "audit", "--ledger", path)
    head = said.split()[-1]
    assert "the audit log of 4 lines holds" in said
    run("clients", "audit", "--ledger", path, "--expect", head)
    assert "is not in the log" in run("clients", "audit", "--ledger", path, "--expect", "ab", code=3)
    log = path.with_name("federation.audit.jsonl")
    log.write_text(log.read_text().replace('"n_used":4', '"n_used":9'))
    assert "line 1 was changed" in run("clients", "audit", "--ledger", path, code=3)
    assert not json.loads(run("clients", "audit", "--ledger", path, "--json", code=3))["holds"]
