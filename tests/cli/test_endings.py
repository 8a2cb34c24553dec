"""How commands end: what an interrupt leaves, what is refused before work starts, and which code says so."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer
import typer.main
from typer.testing import CliRunner

from holdfast.cli.commands import app
from holdfast.cli.shown import ENDINGS, Ending, errors_shown, stopping

from .test_run import SMALL, holdfast

DOCS = Path(__file__).parents[2] / "docs" / "commands.md"


@pytest.fixture
def blocked(tmp_path):
    """Return a place that nobody can write to, root neither: below a file."""
    (tmp_path / "file").write_text("a file")
    return tmp_path / "file" / "below"


def test_an_interrupt_says_what_is_left_and_exits_with_130(capsys):
    for context, left in (
        (errors_shown(), "What was stored stays as it is."),
        (errors_shown(interrupted="It is as it was."), "It is as it was."),
        (stopping("All is stored."), "All is stored."),
        (stopping(lambda: "5 of 9 rounds are stored."), "5 of 9 rounds are stored."),
    ):
        with pytest.raises(typer.Exit) as ended, context:
            raise KeyboardInterrupt
        assert ended.value.exit_code == Ending.INTERRUPTED == 130
        assert capsys.readouterr().err == f"Interrupted. {left}\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a system without /dev/full")
@pytest.mark.parametrize("command", [("list", "defences"), ("list",), ("--version",), ("list", "--json")])
def test_an_output_that_cannot_be_written_is_one_sentence(command):
    typed = [sys.executable, "-c", "from holdfast.cli import main; main()", *command]
    with open("/dev/full", "w") as full:
        done = subprocess.run(typed, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "The output could not be written: No space left on device\n"


def heard():
    """Let an interrupt come through, which a shell keeps from what it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_a_run_that_is_interrupted_says_how_many_rounds_are_stored_and_the_command_to_resume(tmp_path):
    command = ["run", "phishing", *SMALL, "--rounds", "400", "--out", "my results"]
    typed = [str(Path(sys.executable).with_name("holdfast")), *command]
    going = subprocess.Popen(typed, cwd=tmp_path, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    while not list(tmp_path.rglob("*.making.npz")) and going.poll() is None:
        time.sleep(0.01)
    going.send_signal(signal.SIGINT)
    said = going.communicate(timeout=120)[1]
    assert going.returncode == 130, said
    stored, resume = re.fullmatch(
        r"Interrupted. (\d+) of 400 rounds are stored in my results/runs. To resume: holdfast (.*)\n", said
    ).groups()
    assert resume.endswith("--rounds 400 --out 'my results' --resume")
    assert int(stored) >= 5
    assert int(stored) % 5 == 0


@pytest.mark.parametrize(
    "words",
    [
        ("run", "phishing", *SMALL, "--out", "{}"),
        ("run", "phishing", *SMALL, "--report", "{}/page.html"),
        ("compare", "phishing", *SMALL, "--workers", "2", "--out", "{}"),
        ("probe", "phishing", "--out", "{}"),
        ("probe", "phishing", "--figure", "{}/leak.png"),
        ("reproduce", "table8", "--scale", "smoke", "--out", "{}"),
        ("demo", "--out", "{}"),
        ("report", "--results", ".", "--out", "{}/page.html"),
        ("report", "--results", ".", "--figures", "{}"),
        ("advise", "--clients", "20", "--malicious", "4", "--plot", "{}/region.png"),
        ("theory", "figures", "--out", "{}"),
        ("data", "get", "spambase", "--data", "{}"),
    ],
    ids=lambda words: " ".join((*words[:2], words[-2])),
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(words, blocked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    for work in ("lab.simulation.simulate", "comparing.making.make_runs", "theory.advise"):
        monkeypatch.setattr(f"holdfast.{work}", None)
    done = holdfast(*(word.format(blocked) for word in words))
    assert done.exit_code == Ending.FAILED, done.output
    assert done.stderr.startswith(f"cannot write to {blocked}")
    assert "file is not a folder; name another place" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_attackers_without_an_attack_are_refused(tmp_path):
    done = holdfast("run", "phishing", *SMALL, "--malicious", 3, "--out", tmp_path)
    assert done.exit_code == Ending.FAILED
    assert done.stderr.startswith("3 malicious clients, and no attack: name what they do, as in --attack")
    assert not list(tmp_path.iterdir())


def test_more_attackers_than_clients_are_refused(tmp_path):
    done = holdfast("run", "phishing", *SMALL, "--attack", "edge-case", "--malicious", 13, "--out", tmp_path)
    assert done.exit_code == Ending.FAILED
    assert "--malicious must be a whole number from 0 to 12; got 13" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [(), ("run",), ("data",), ("data", "get")], ids=" ".join)
def test_h_is_short_for_help(words):
    short, long = (CliRunner().invoke(app, [*words, option]) for option in ("-h", "--help"))
    assert short.exit_code == 0
    assert short.output == long.output


@pytest.mark.parametrize("word", ["--defence", "--defense"])
def test_a_defence_may_be_spelt_as_in_america(word, tmp_path):
    done = holdfast("run", "phishing", *SMALL, word, "median", "--out", tmp_path)
    assert "the server uses median()" in done.output
    for command in ("compare", "probe"):
        assert "No such option" not in holdfast(command, "phishing", f"{word}s", "no-such-rule").output


@pytest.mark.parametrize(
    ("words", "meant"), [(["runn"], "run"), (["data", "gett"], "get"), (["resuls"], "results")]
)
def test_a_misspelt_command_is_answered_with_what_was_meant_once(words, meant):
    done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert done.exit_code == Ending.MISUSED
    assert f"There is no command '{words[-1]}'. Did you mean '{meant}'? There are: " in done.stderr
    assert done.stderr.lower().count("did you mean") == 1


@pytest.mark.parametrize("words", [["xyzzy"], ["run", "xyzzy"], ["run", "phishing", "--defence", "xyzzy"]])
def test_nothing_is_suggested_where_nothing_is_near(words):
    done = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert done.exit_code in (Ending.FAILED, Ending.MISUSED)
    assert "xyzzy" in done.stderr
    assert "did you mean" not in done.stderr.lower()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes_commands(shell):
    script = [str(Path(sys.executable).with_name("holdfast"))]
    asked = {"_HOLDFAST_COMPLETE": f"complete_{shell}", "COMP_WORDS": "holdfast re", "COMP_CWORD": "1"}
    asked |= {"_TYPER_COMPLETE_ARGS": "holdfast re", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = subprocess.run(script, env=asked, capture_output=True, text=True)
    assert {"report", "reproduce", "results"} <= set(re.findall(r"\w+", done.stdout)), done.stderr
    assert "demo" not in done.stdout


@pytest.mark.skipif(not DOCS.exists(), reason="no docs beside the tests")
def test_the_page_on_the_command_line_lists_every_command():
    rows = re.findall(r"^\| (`.*?) \|", DOCS.read_text(), re.M)
    listed = sorted(name for row in rows for name in re.findall(r"`(\w+)`", row))
    assert listed == sorted(typer.main.get_command(app).commands)


def test_every_exit_code_is_in_the_help_and_in_the_docs():
    told = [int(code) for code in re.findall(r"(?:: |; )(\d+) ", ENDINGS)]
    assert told == sorted(Ending)
    assert (
        "Exit codes: 0 done; 1 failed, and the last line says why"
        in CliRunner().invoke(app, ["--help"]).output
    )
    if DOCS.exists():
        table = re.findall(r"^\| (\d+) \|", DOCS.read_text(), re.M)
        assert [int(code) for code in table] == sorted(Ending)
