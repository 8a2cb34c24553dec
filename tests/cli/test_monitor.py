import socket

import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app

from ..report.ledgers import Federation
from ..report.monitors import asked, monitor_process


def run(*arguments, **env):
    return CliRunner().invoke(app, ["monitor", *map(str, arguments)], env={"COLUMNS": "120", **env})


@pytest.fixture
def ledger(tmp_path):
    federation = Federation(tmp_path / "federation.db")
    federation.round(2)
    return federation.path


def test_a_finished_run_becomes_a_page_to_keep(ledger, tmp_path):
    result = run("--ledger", ledger, "--out", tmp_path / "page.html")
    assert result.exit_code == 0
    assert "The server listens to the clients first" in (tmp_path / "page.html").read_text()


def test_a_page_goes_to_a_file_that_is_named_like_one(ledger, tmp_path):
    result = run("--ledger", ledger, "--out", tmp_path / "page.db")
    assert result.exit_code == 1
    assert "page.db" in result.output
    assert not (tmp_path / "page.db").exists()


def test_an_absent_ledger_makes_no_page(tmp_path):
    result = run("--ledger", tmp_path / "absent.db", "--out", tmp_path / "page.html")
    assert result.exit_code == 1
    assert "no ledger at" in result.output


def test_a_port_that_is_taken_is_said_to_be(ledger):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        result = run("--ledger", ledger, "--port", taken.getsockname()[1])
    assert result.exit_code == 1
    assert "cannot listen on 127.0.0.1" in result.output
    assert "--port" in result.output


@pytest.mark.parametrize("token", ["short", "a token with spaces in it", "semicolon;semicolon;semi", ""])
def test_a_token_that_can_be_guessed_or_not_be_sent_is_refused(ledger, token):
    result = run("--ledger", ledger, "--port", 0, HOLDFAST_MONITOR_TOKEN=token)
    assert result.exit_code == 1
    assert "HOLDFAST_MONITOR_TOKEN must be" in result.output


def test_on_this_machine_no_token_is_needed(ledger):
    with monitor_process(ledger) as url:
        assert url.startswith("http://127.0.0.1:")
        assert asked(url)[0] == 200


def test_who_serves_others_gets_a_token_each_time_a_new_one(ledger):
    tokens = set()
    for _ in range(2):
        with monitor_process(ledger, "--host", "0.0.0.0") as url:
            assert asked(url)[0] == 401
            path, _, token = url.partition("?token=")
            assert asked(path, f"/?token={token}")[0] == 303
            assert asked(path, Authorization=f"Bearer {token}")[0] == 200
            assert asked(path, Authorization=f"Bearer {token}", Host="somewhere.example")[0] == 403
            tokens.add(token)
    assert len(tokens) == 2
    assert min(map(len, tokens)) >= 32


def test_names_of_the_server_are_given(ledger):
    with monitor_process(ledger, "--name", "monitor.example") as url:
        assert asked(url, Host="monitor.example")[0] == 200
