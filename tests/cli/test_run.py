import json
import shlex
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app
from holdfast.runs.results import Result

from ..runs.tiny import SEEN_NUMBERS, SEEN_SETTINGS

SMALL = [
    "--rounds",
    "2",
    "--clients",
    "12",
    "--per-round",
    "6",
    "--set",
    "n_train=600",
    "--set",
    "n_test=100",
]


def holdfast(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "120"})


def attacked(tmp_path, *more, defence="invariant"):
    words = ("run", "phishing", "--attack", "edge-case", "--defence", defence, "--out", tmp_path)
    return holdfast(*words, *SMALL, *more)


@pytest.mark.parametrize(("share", "count"), [("20%", 3), ("25 %", 3), ("2", 2)])
def test_attackers_and_clients_of_a_round_may_be_shares(share, count, tmp_path):
    result = attacked(tmp_path, "--malicious", share, "--per-round", "50%", "--no-unattacked", "--json")
    assert result.exit_code == 0, result.output
    described = json.loads(result.stdout)["description"]
    assert (described["attack"]["n_malicious"], described["task"]["n_per_round"]) == (count, 6)
    compared = holdfast(
        *("compare", "phishing", "--defences", "median", "--seeds", 1, "--out", tmp_path, *SMALL),
        *("--malicious", share, "--json"),
    )
    assert compared.exit_code == 0, compared.output
    assert shlex.join(["--malicious", share]) in json.loads(compared.stdout)["conclusion"]["command"]


@pytest.mark.parametrize("command", ["run", "compare", "probe"])
def test_what_is_neither_a_number_nor_a_share_is_refused(command):
    for given in ("x", "120%", "2.5", "-1"):
        result = holdfast(command, "phishing", "--attack", "edge-case", "--malicious", given)
        assert result.exit_code == 2
        assert "--malicious" in result.stderr
        assert given in result.stderr


@pytest.mark.parametrize(
    ("option", "given", "said"),
    [
        ("--per-round", 0, "--per-round must be a whole number from 1 to 12; got 0"),
        ("--rounds", 0, "--rounds must be a whole number of at least 1; got 0"),
        ("--clients", 0, "--clients must be a whole number of at least 1; got 0"),
        ("--malicious", 13, "--malicious must be a whole number from 0 to 12; got 13"),
    ],
)
def test_an_error_about_a_count_names_the_option(option, given, said, tmp_path):
    result = attacked(tmp_path, option, given)
    assert result.exit_code == 1
    assert result.stderr == f"{said}\n"


def test_a_run_ends_in_a_table_for_newcomers(tmp_path):
    result = attacked(tmp_path)
    assert result.exit_code == 0, result.output
    assert "3 of 12 clients attack (edge-case)" in result.output
    assert "of clean test inputs are answered correctly" in result.output
    assert "of the attack gets into the model in a round" in result.output
    assert "of the honest clients' step survives" in result.output
    assert "of inputs with the backdoor get the label that the attackers want" in result.output
    assert "of the model's parameters move in a round; the rest are masked" in result.output
    stored, twin = stored_runs(tmp_path)
    assert json.loads(stored.read_text())["finished"]
    assert json.loads(twin.read_text())["finished"]
    assert f"The result {stored.stem} is stored in {tmp_path / 'runs'}." in result.output
    assert result.stderr == ""


def stored_runs(folder):
    """Return the files of the run under attack, and of the same run without attackers."""
    paths = sorted((folder / "runs").glob("*.json"))
    paths.sort(key=lambda path: json.loads(path.read_text())["description"]["attack"]["n_malicious"])
    return paths[::-1]


def test_a_run_ends_with_a_verdict_suspects_and_a_command_that_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = holdfast("run", "phishing", "--attack", "edge-case", "--set", "lr=0.12", "--out", "here")
    assert result.exit_code == 0, result.output
    told = " ".join(result.output.split())
    assert "The backdoor got in Why: " in told
    assert "of the inputs with the backdoor get the attackers' label, without an attack " in told
    assert "10 points more, counts as kept out." in told
    assert "Suspects: Nobody is accused: this defence does not remember its clients" in told
    following = result.output.splitlines()[-1].strip()
    words = following.split()
    assert words[:5] == ["holdfast", "run", "phishing", "--attack", "edge-case"]
    assert words[-2:] == ["--defence", "factions+krum_trimmed_mean"]
    again = holdfast(*words[1:])
    assert again.exit_code == 0, again.output
    assert "The watch accused " in " ".join(again.output.split())


def test_a_model_that_has_learned_nothing_gets_no_verdict(tmp_path):
    result = attacked(tmp_path, "--set", "lr=0.000001")
    told = " ".join(result.output.split())
    assert "Not trained: no verdict Why: The model has learned nothing yet: " in told
    last = result.output.splitlines()[-1].split()
    assert last[last.index("--rounds") + 1] == "20"


def test_json_carries_the_verdict_and_the_twin_can_be_left_out(tmp_path):
    command = ("run", "phishing", "--watch", "factions", "--out", tmp_path, "--json", *SEEN)
    told = json.loads(holdfast(*command, "--no-unattacked").stdout)["conclusion"]
    assert len([*(tmp_path / "runs").glob("*.json")]) == 1
    assert "without an attack was not measured" in told["reason"]
    told = json.loads(holdfast(*command, "--resume").stdout)["conclusion"]
    assert told["word"] in ("kept out", "partly in", "got in")
    assert set(told) == {
        *("word", "reason", "suspects", "advice", "command", "headline", "code", "attention"),
    }


def test_where_there_is_no_terminal_progress_is_a_line_now_and_then(tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.cli.options.SECONDS", 0.0)
    lines = attacked(tmp_path).stderr.splitlines()
    assert any(line.startswith("2 of 2 rounds  Acc ") for line in lines)
    assert lines[-1].startswith("2 of 2 rounds without attackers  Acc ")
    assert attacked(tmp_path, "--json", "--seed", 1).stderr == ""


def test_json_is_one_document_with_every_setting_in_it(tmp_path):
    result = attacked(tmp_path, "--json", "--set", "tau=0.5", "--set", "batched_sgd.lr=0.2", "--seed", 3)
    document = json.loads(result.stdout)
    description = document["description"]
    assert description["defence"]["aggregate"] == "invariant(tau=0.5, alpha=0.25, strict=False)"
    assert description["task"]["train"] == "batched_sgd(lr=0.2, momentum=0.0)"
    assert description["seed"] == 3
    assert len(document["rounds"]["accuracy"]) == len(document["records"]) == 2


def test_nobody_attacks_unless_asked(tmp_path):
    result = holdfast("run", "phishing", "--out", tmp_path, *SMALL)
    assert "nobody attacks; the server uses fedavg()" in result.output
    assert "backdoor" not in result.output


def test_resume_does_not_make_a_finished_run_again(tmp_path):
    attacked(tmp_path)
    stored, twin = stored_runs(tmp_path)
    made = twin.stat().st_mtime_ns
    before = stored.stat().st_mtime_ns
    attacked(tmp_path, "--resume")
    assert stored.stat().st_mtime_ns == before
    attacked(tmp_path)
    assert stored.stat().st_mtime_ns > before
    assert twin.stat().st_mtime_ns == made


def interrupt(run, folder, **options):
    yield Result(run.description)
    raise KeyboardInterrupt


def test_an_interrupt_is_answered_with_how_to_resume(tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.runs.recording.run_and_record", interrupt)
    result = attacked(tmp_path)
    assert result.exit_code == 130
    assert result.stderr == "Interrupted. No round is stored yet: the same command starts over.\n"


def test_attackers_have_their_share_of_every_round_if_fixed(tmp_path):
    result = attacked(tmp_path, "--sampling", "fixed", "--malicious", 4, "--json")
    assert json.loads(result.stdout)["rounds"]["n_attackers"] == [2, 2]


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["phising"], "no task 'phising'; did you mean 'phishing'?"),
        (["phishing", "--attack", "edgecase"], "no attack 'edgecase' on phishing; did you mean 'edge-case'?"),
        (["phishing", "--defence", "invarant"], "no defence 'invarant'; did you mean 'invariant'?"),
        (["phishing", "--watch", "faction"], "no watch 'faction'; did you mean 'factions'?"),
        (["phishing", "--watch", "factions", "--set", "hering=1"], "did you mean 'hearing'?"),
        (["phishing", "--defence", "invariant", "--set", "aplha=0.1"], "did you mean 'alpha'?"),
        (
            ["phishing", "--defence", "invariant", "--set", "invariant.aplha=1"],
            "did you mean 'invariant.alpha'?",
        ),
        (["phishing", "--set", "batch_size=1.5"], "batch_size must be a whole number"),
        (["phishing", "--set", "batch_size=many"], "batch_size must be a"),
        (["phishing", "--defence", "invariant", "--set", "tau=[1]"], "tau must be a number"),
        (["phishing", "--set", "sizes=[45, 2]"], "must be hashable"),
        (["phishing", "--per-round", "200"], "--per-round must be"),
        (["phishing", "--device", "abacus"], "no device 'abacus' here"),
        (
            [
                "phishing",
                "--attack",
                "edge-case+adaptive-oracle",
                "--defence",
                "invariant",
                "--set",
                "tau=0.5",
            ],
            "write invariant.tau or adaptive_oracle.tau",
        ),
    ],
)
def test_what_cannot_be_done_is_answered_in_a_line(tmp_path, arguments, answer):
    result = holdfast("run", *arguments, "--out", tmp_path)
    assert result.exit_code == 1, result.output
    assert answer in result.stderr
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "arguments",
    [[], ["phishing", "--set", "tau"], ["phishing", "--set", "tau=1 +"], ["phishing", "--sampling", "all"]],
)
def test_a_wrong_use_of_the_command_has_another_exit_code(arguments):
    assert holdfast("run", *arguments).exit_code == 2


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "taken").write_text("")
    result = attacked(tmp_path / "taken")
    assert result.exit_code == 1
    assert str(tmp_path / "taken") in result.stderr


def test_without_torch_the_extra_is_named():
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from holdfast.cli.commands import app\nsys.argv = ['holdfast', 'run', 'phishing']\napp()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "this needs torch; in a checkout: pip install '.[sim]'\n"


def test_the_accuracy_of_a_minority_is_shown_where_there_is_one(tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.cli.options.SECONDS", 0.0)
    small = ("--rounds", 1, "--clients", 30, "--set", "epochs=1")
    result = holdfast("run", "digits-minority", "--out", tmp_path, *small)
    assert "of them in the form that 3 of 30 clients hold" in result.stdout
    assert " minority " in result.stderr.splitlines()[-1]
    (line,) = holdfast("results", "list", tmp_path).stdout.splitlines()
    accuracy = json.loads(holdfast("results", "list", tmp_path, "--json").stdout)["runs"][0]
    assert f"  minority {accuracy['minority_accuracy']:.1%}" in line
    assert "minority" not in attacked(tmp_path).output


#: What makes a run of `SEEN_NUMBERS` and `SEEN_SETTINGS` on the command line.
SEEN = [
    "--attack",
    "edge-case+collude",
    "--rounds",
    SEEN_NUMBERS.n_rounds,
    "--clients",
    SEEN_NUMBERS.n_clients,
]
SEEN += ["--per-round", SEEN_NUMBERS.n_per_round]
SEEN += [word for name, value in SEEN_SETTINGS.items() for word in ("--set", f"{name}={value}")]


def test_a_run_under_a_watch_says_who_was_found_and_since_when(tmp_path):
    result = holdfast("run", "phishing", "--watch", "factions", "--out", tmp_path, *SEEN)
    assert result.exit_code == 0, result.output
    rows = {" ".join(line.split()) for line in result.output.splitlines()}
    assert "attackers found 5 of 5 expelled since round 3" in rows
    assert "wrongly found 0 of 19 honest clients" in rows
    assert "hearing 2 rounds in which nothing was applied" in rows
    assert "under the watch of factions(mode='expel', false_alarms=0.5" in " ".join(result.output.split())
    named = holdfast("run", "phishing", "--defence", "factions+fedavg", "--out", tmp_path, "--resume", *SEEN)
    assert named.output == result.output  # the same run, which is only read
    line, _ = holdfast("results", "list", tmp_path).stdout.splitlines()
    assert "most_clients=10000)+fedavg()  seed 0" in line
    assert line.endswith("found 5  wrongly 0")


def test_a_newcomer_under_a_watch_is_no_update_that_could_not_be_used(tmp_path):
    few = ("--rounds", 4, "--clients", 30, "--per-round", 6, "--set", "n_train=600", "--set", "hearing=0.5")
    result = holdfast("run", "phishing", "--watch", "factions", *few, "--out", tmp_path)
    assert "times a client was new, and its update not used yet" in result.output
    assert "could not be used" not in result.output


def test_a_watch_may_only_report_or_go_back_to_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.cli.options.SECONDS", 0.0)
    words = ("run", "phishing", "--watch", "factions", "--out", tmp_path, *SEEN)
    reported = holdfast(*words, "--set", "mode=report", "--no-unattacked")
    assert "named since round 3; nobody is excluded" in reported.stdout
    assert reported.stderr.splitlines()[-1].endswith("  attackers 5  found 5, wrongly 0")
    rewound = holdfast(*words, "--set", "factions.hearing=0")
    assert "3  the round in which the model went back to its start" in rewound.stdout
    assert "hearing  " not in rewound.stdout
    document = json.loads(holdfast(*words, "--set", "hearing=0", "--resume", "--json").stdout)
    assert document["watched"]["rewinds"] == [3]
    assert document["records"][2]["verdicts"]["rewound"] is True


def test_a_run_with_a_ledger_says_how_to_look_at_it_and_that_a_stored_one_writes_none(tmp_path, caplog):
    words = ("run", "phishing", *SMALL, "--out", tmp_path / "results", "--ledger")
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    assert f"holdfast monitor --ledger {first}\n" in holdfast(*words, first).stdout
    again = holdfast(*words, second, "--resume")
    assert "holdfast monitor" not in again.stdout
    assert f"is stored already, so nothing is written to {second}" in caplog.text + again.output
