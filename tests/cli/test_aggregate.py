import errno
import functools
import json
import os
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from holdfast import multi_krum, trimmed_mean
from holdfast.aggregators import arc, flame, nnm
from holdfast.cli.commands import app

from ..files.hostile import edited
from ..files.rounds import assert_same, drawn, in_memory, some_models, write_round
from ..files.watched import a_base, write_watched

runner = CliRunner()
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def round_(tmp_path):
    base, models = some_models(7)
    at, clients = write_round(tmp_path, base, models)
    return tmp_path, base, models, at, clients


def run(*args):
    return runner.invoke(app, [str(arg) for arg in args])


def test_the_command_of_the_readme(round_):
    folder, base, models, at, clients = round_
    clients[1].write_bytes(b"nothing")
    out = folder / "next.safetensors"
    done = run(
        "aggregate", *clients, "--base", at, "--rule", "multi-krum", "--set", "n_malicious=1", "--out", out
    )
    assert done.exit_code == 0, done.output
    assert "multi_krum: 6 clients aggregated, 1 dropped" in done.output
    assert "client c01: is no safetensors file: 7 bytes" in done.output
    expected, _ = in_memory(base, [models[0], *models[2:]], multi_krum(n_malicious=1))
    assert_same(out, expected)


def test_a_rule_may_stand_in_front_of_another(round_):
    folder, base, models, at, clients = round_
    out = folder / "next.safetensors"
    command = ["aggregate", *clients, "--base", at, "--out", out, "--rule", "arc+nnm+trimmed-mean"]
    done = run(*command, "--set", "n_malicious=2", "--set", "nnm.n_malicious=1", "--set", "alpha=0.3")
    assert done.exit_code == 0, done.output
    rule = arc(n_malicious=2, rule=nnm(n_malicious=1, rule=trimmed_mean(alpha=0.3)))
    assert_same(out, in_memory(base, models, rule)[0])


def test_json_is_one_document(round_):
    folder, _, _, at, clients = round_
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next", "--rule", "median", "--json")
    document = json.loads(done.stdout)
    assert document["rule"] == "median()"
    assert document["diagnostics"]["clients"] == [path.stem for path in clients]


def test_files_with_the_same_numbers_are_named_in_the_verdict(round_):
    folder, base, models, _, _ = round_
    models[2], models[5] = models[0], base
    models[4] = {name: values.astype(np.float64) for name, values in models[0].items()}
    at, clients = write_round(folder, base, models)
    command = ["aggregate", *clients, "--base", at, "--out", folder / "next", "--rule", "median"]
    done = run(*command, "--report", folder / "round.json")
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert "Attention: Clients c00, c02 and c04 sent the same model" in told
    assert "Client c05 sent the global model unchanged" in told
    assert "Nobody stands out" not in told
    assert "Nobody else stands out" in told
    assert "Clients c00, c02 and c04 sent the same model" in (folder / "round.html").read_text()
    document = json.loads(run(*command, "--json").stdout)
    assert document["diagnostics"]["identical"] == [["c00", "c02", "c04"]]
    assert document["diagnostics"]["unchanged"] == ["c05"]
    assert document["conclusion"]["attention"].startswith("Clients c00, c02 and c04 sent the same model")


def test_where_all_files_differ_the_verdict_has_no_line_for_copies(round_):
    folder, _, _, at, clients = round_
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next", "--rule", "median", "--json")
    document = json.loads(done.stdout)
    assert document["conclusion"]["attention"] == ""
    assert document["conclusion"]["suspects"].startswith("Nobody stands out")


def test_copies_are_named_in_a_hearing(tmp_path):
    at, clients, _ = write_watched(tmp_path, 1, a_base())
    clients[1].write_bytes(clients[0].read_bytes())
    done = run(
        *("aggregate", *clients, "--base", at, "--out", tmp_path / "next", "--rule", "median"),
        *("--watch", "--state", tmp_path / "state"),
    )
    assert done.exit_code == 0, done.output
    assert f"attention: clients {clients[0].stem} and {clients[1].stem} sent the same model" in done.output
    assert "Attention: Clients" in done.output


def test_without_a_rule_it_is_the_one_that_needs_no_number_of_attackers(round_):
    folder, base, models, at, clients = round_
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next", "--seed", 3)
    assert done.exit_code == 0, done.output
    assert_same(folder / "next", in_memory(base, models, flame, rng=drawn(3, at))[0])
    told = " ".join(run("aggregate", "--help").stdout.replace("│", " ").split())
    assert "--rule krum_trimmed_mean --set n_malicious=2" in told


def test_the_report_is_json_and_a_page_whose_names_are_no_markup(round_):
    folder, _, _, at, clients = round_
    evil = clients[0].rename(clients[0].with_name("<script>.safetensors"))
    report = folder / "report.json"
    done = run("aggregate", evil, *clients[1:], "--base", at, "--out", folder / "next", "--report", report)
    assert done.exit_code == 0
    said = json.loads(report.read_text())["diagnostics"]
    assert len(said["norms"]) == 7
    page = (folder / "report.html").read_text()
    assert "&lt;script&gt;" in page
    assert "<script>" not in page
    assert "://" not in page


@pytest.mark.parametrize("more", [(), ("--json",), ("--report", "report.json")])
def test_names_and_types_that_no_terminal_shows_change_no_exit_code(more, round_, monkeypatch):
    folder, _, _, at, clients = round_
    monkeypatch.chdir(folder)
    evil = clients[0].rename(clients[0].with_name("\x1b[2J\n漢\udcff.safetensors"))
    edited(evil, lambda header: header["b.bias"].update(dtype="漢\ud800"))
    command = [sys.executable, "-c", "from holdfast.cli import main; main()", "aggregate"]
    command += map(str, [evil, *clients[1:], "--base", at, "--out", folder / "next\udcff", *more])
    # A terminal without UTF-8 shows even less.
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert rb"\x1b[2J" in done.stdout
    assert b"\x1b" not in done.stdout
    assert (folder / "next\udcff").exists()


def test_a_report_without_jinja_is_refused_before_anything_is_aggregated(round_, monkeypatch):
    folder, _, _, at, clients = round_
    monkeypatch.setitem(sys.modules, "jinja2", None)
    common = ("aggregate", *clients, "--base", at, "--out", folder / "next")
    done = run(*common, "--report", folder / "report.json")
    assert done.exit_code == 1
    assert "jinja2 is not installed; in a checkout: pip install '.[report]'" in done.output
    assert not (folder / "next").exists()
    assert run(*common).exit_code == 0


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ("base.safetensors", "the base and the report are the same path"),
        ("next", "the output and the report are the same path"),
        ("state", "the state and the report are the same path"),
        ("clients/c00.safetensors", "the report and a client are the same path"),
        ("next.json", "the output and the report's page are the same path"),
        ("clients", "clients: it is a folder"),
    ],
)
def test_a_report_in_place_of_something_else_is_refused_before_any_work(report, said, round_):
    folder, _, _, at, clients = round_
    out = folder / ("next.html" if report == "next.json" else "next")
    files = ("--base", at, "--out", out, "--state", folder / "state", "--report", folder / report)
    before = {path: path.read_bytes() for path in folder.rglob("*.safetensors")}
    done = run("aggregate", *clients, *files)
    assert done.exit_code == 1
    assert said in done.output.replace("\n", " ")
    assert {path: path.read_bytes() for path in folder.rglob("*.safetensors")} == before
    assert not out.exists()


def test_a_report_that_cannot_be_written_is_refused_before_any_work(round_):
    folder, _, _, at, clients = round_
    (folder / "file").touch()
    files = ("--base", at, "--out", folder / "next", "--report", folder / "file" / "report.json")
    done = run("aggregate", *clients, *files)
    assert done.exit_code == 1
    assert "is not a folder; name another place" in done.stderr
    assert not (folder / "next").exists()


def test_a_report_that_fails_after_all_has_its_own_exit_code_as_the_model_is_there(round_, monkeypatch):
    def full(document, report):
        raise OSError(errno.ENOSPC, "No space left on device", str(report))

    monkeypatch.setattr("holdfast.report.pages.write_round", full)
    folder, _, _, at, clients = round_
    files = ("--base", at, "--out", folder / "next", "--report", folder / "report.json")
    done = run("aggregate", *clients, *files)
    assert done.exit_code == 4
    assert f"the next model is in {folder / 'next'}" in done.output.replace("\n", "")
    assert done.stderr == f"{folder / 'report.json'}: No space left on device\n"
    assert (folder / "next").exists()


def test_a_disk_that_is_full_is_said_with_the_name_of_the_file_and_nothing_was_written(round_):
    folder, _, _, at, clients = round_
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # stands for the disk's end
    try:
        done = run("aggregate", *clients, "--base", at, "--out", folder / "next")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert done.exit_code == 1
    assert f"{folder / 'next'}: File too large" in done.output.replace("\n", "")
    assert not list(folder.glob("next*"))


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--rule", "inwariant"), "did you mean 'invariant'?"),
        (("--rule", "nmn+krum"), "there is no rule 'nmn'; did you mean 'nnm'?"),
        (("--rule", "nnm+krumm"), "there is no rule 'krumm'; did you mean 'krum'?"),
        (("--rule", "median+krum"), "median does not work in front of another rule; these do: arc"),
        (("--rule", "nnm+krum"), "nnm needs n_malicious, krum.n_malicious: add --set n_malicious=2, if"),
        (
            ("--rule", "krum-trimmed-mean"),
            "add --set n_malicious=2, if at most 2 of a round's clients attack",
        ),
        (("--set", "noisy=1"), "did you mean 'noise'? There are: flame.noise"),
        (("--set", "hearing=1"), "no setting 'hearing'"),
        (("--memory", "much"), "written like 500MB or 1GB"),
        (("--base", "nothing.safetensors"), "cannot be opened"),
        (("--workers", "dask"), "ray://host:10001; got 'dask'"),
        (("--rule", "fltrust"), "needs a reference"),
        (("--rule", "centered-clipping"), "keeps the last update between rounds"),
    ],
)
def test_a_wrong_use_is_one_line_and_an_exit_code(round_, wrong, said):
    folder, _, _, at, clients = round_
    given = {"--base": at, "--out": folder / "next", wrong[0]: wrong[1]}
    done = run("aggregate", *clients, *(word for pair in given.items() for word in pair))
    assert done.exit_code == 1
    assert said in done.output.replace("\n", " ")
    assert not (folder / "next").exists()


def test_a_round_without_a_usable_client_keeps_the_model_and_says_so_by_its_exit_code(round_):
    folder, _, _, at, clients = round_
    for path in clients:
        path.write_bytes(b"nothing")
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next")
    assert done.exit_code == 3
    assert "NOT AGGREGATED" in done.output
    assert (folder / "next").read_bytes() == at.read_bytes()


def test_a_dropped_client_is_named_once_and_is_no_suspect(round_):
    folder, _, _, at, clients = round_
    clients[1].write_bytes(b"\x80\x04nothing")
    command = [sys.executable, "-c", "from holdfast.cli import main; main()", "aggregate", *clients]
    command += ["--base", at, "--rule", "median", "--out", folder / "next"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run_it = functools.partial(subprocess.run, env=environment, capture_output=True, text=True, check=True)
    done = run_it([*map(str, command)])
    assert not done.stderr
    assert done.stdout.split("holdfast aggregate")[0].count("c01") == 1
    assert "What 1 client sent could not be used" in " ".join(done.stdout.split())
    told = run_it([*map(str, command), "--json"])
    assert "median dropped client c01: is a pickle" in told.stderr


def test_files_of_torch_are_named_as_the_reason_and_nobody_is_accused(round_):
    folder, _, _, at, clients = round_
    for path in clients:
        torch.save({"w": torch.ones(3)}, path)
    done = run("aggregate", *clients, "--base", at, "--rule", "median", "--out", folder / "next")
    assert done.exit_code == 3
    told = " ".join(done.output.split())
    assert (
        "Why: No usable update is left, after 7 were dropped. The reason for 7 clients: is a file of" in told
    )
    assert "Suspects: Too early to say: no update was aggregated." in told


def next_command(done):
    """The command that a round ends with, as a shell takes it apart."""
    (line,) = [line for line in done.output.splitlines() if line.startswith("    holdfast aggregate")]
    return shlex.split(line)[1:]


def test_the_next_command_starts_from_the_model_just_written_and_replaces_none(round_, monkeypatch):
    folder, _, _, at, clients = round_
    monkeypatch.chdir(folder)
    out = Path("next.safetensors")
    done = run("aggregate", *clients, "--base", at, "--rule", "median", "--out", out)
    assert done.exit_code == 0, done.output
    first = out.read_bytes()
    Path("next-2.safetensors").touch()
    typed = next_command(run("aggregate", *clients, "--base", at, "--rule", "median", "--out", out))
    assert typed[-6:] == ["--base", "next.safetensors", "--out", "next-3.safetensors", "--rule", "median"]
    assert run("aggregate", *clients, *typed[2:]).exit_code == 0
    assert out.read_bytes() == first != Path("next-3.safetensors").read_bytes()


def test_the_next_command_may_be_a_hearing_which_keeps_the_model(tmp_path):
    at, clients, _ = write_watched(tmp_path, 1, a_base())
    out = tmp_path / "next.safetensors"
    done = run("aggregate", *clients, "--base", at, "--rule", "median", "--out", out)
    assert "It begins with a hearing" in done.output.replace("\n ", "")
    first, typed = out.read_bytes(), next_command(done)
    assert typed[-3:] == ["--watch", "--state", f"{out}.watch"]
    again = run("aggregate", *clients, *typed[2:])
    assert again.exit_code == 0, again.output
    assert out.read_bytes() == (tmp_path / "next-2.safetensors").read_bytes() == first


def test_the_next_command_repeats_what_was_typed(round_, monkeypatch):
    folder, _, _, at, clients = round_
    monkeypatch.chdir(folder)
    (folder / "counts.json").write_text(json.dumps({path.stem: 10 for path in clients}))
    options = ["--rule", "fedavg", "--only", "a*", "--only", "b*", "--weights", "counts.json", "--seed", "5"]
    options += ["--state", "state", "--ledger", "files.db", "--memory", "500MB"]
    done = run("aggregate", *clients, "--base", at, "--out", "next", *options, "--report", "report.json")
    assert done.exit_code == 0, done.output
    expected = ["--base", "next", "--out", "next-2", *options, "--report", "report-2.json"]
    assert next_command(done)[2:] == expected
    typed = next_command(run("aggregate", *clients, "--base", at, "--out", at, "--rule", "median"))
    assert typed[2:] == ["--base", str(at), "--out", str(at), "--rule", "median"]


def test_the_next_command_names_clients_by_the_same_folders(round_, monkeypatch):
    folder, _, _, at, clients = round_
    monkeypatch.chdir(folder)
    jobs = [Path("jobs") / path.stem / "model.safetensors" for path in clients]
    for job, path in zip(jobs, clients, strict=True):
        job.parent.mkdir(parents=True)
        path.rename(job)
    options = ["--base", at, "--out", "next", "--names-in", "jobs", "--rule", "median"]
    done = run("aggregate", *jobs, *options)
    assert "7 clients aggregated" in done.output
    typed = next_command(done)
    assert typed[1] == "jobs/*/model.safetensors"
    assert typed[-4:] == ["--names-in", "jobs", "--rule", "median"]
    again = json.loads(run("aggregate", *jobs, *typed[2:], "--json").stdout)
    assert again["diagnostics"]["clients"] == [path.stem for path in clients]
    typed = next_command(run("aggregate", *(job.parent for job in jobs), "--base", at, "--out", "next-3"))
    assert typed[1] == "jobs/*"


@pytest.mark.parametrize("name", ["a b.safetensors", "m;ls", "$HOME", "[m].safetensors"])
def test_the_next_command_quotes_what_a_shell_would_read_otherwise(name, round_, monkeypatch):
    folder, _, _, at, clients = round_
    monkeypatch.chdir(folder)
    jobs = [Path("jobs") / path.stem / name for path in clients]
    for job, path in zip(jobs, clients, strict=True):
        job.parent.mkdir(parents=True)
        path.rename(job)
    done = run("aggregate", *jobs, "--base", at, "--out", "next", "--names-in", "jobs")
    assert next_command(done)[1:8] == [str(job) for job in jobs]


def watched(folder, number, *more):
    at, clients, _ = write_watched(folder, number, a_base())
    state = folder / "state.safetensors"
    return run(
        *("aggregate", *clients, "--base", at, "--out", folder / "next", "--watch", "--state", state),
        *("--seed", 1, "--set", "factions.false_alarms=0.5", *more),
    )


def test_a_hearing_is_no_failure_and_says_that_nothing_is_applied(tmp_path):
    done = watched(tmp_path, 1, "--set", "hearing=2", "--set", "flame.noise=0.002")
    assert done.exit_code == 0, done.output
    assert "watch, round 1: 20 clients heard, 0 expelled" in done.output
    assert "hearing: nothing is applied yet; clients were heard 1.0 times on average" in done.output
    assert "NOT AGGREGATED" not in done.output
    assert f"the model as it was is in {tmp_path / 'next'}" in done.output
    assert (tmp_path / "next").read_bytes() == (tmp_path / "round1" / "base.safetensors").read_bytes()
    document = json.loads(watched(tmp_path, 2, "--json").stdout)
    assert document["verdicts"]["hearing"] is True
    assert document["diagnostics"]["aggregated"] is False


def test_attackers_are_named_and_expelled_over_rounds_and_a_rewind_is_asked_for(tmp_path):
    report = tmp_path / "report.json"
    for number in (1, 2):
        assert watched(tmp_path, number, "--set", "hearing=0").exit_code == 0
    done = watched(tmp_path, 3, "--set", "hearing=0", "--report", report)
    assert done.exit_code == 0, done.output
    assert "client c00: expelled since round 3, votes with faction 1" in done.output
    assert "REWIND" in done.output
    document = json.loads(report.read_text())
    assert document["watch"].startswith("factions(mode='expel', false_alarms=0.5, hearing=0.0")
    expelled = [one["client"] for one in document["verdicts"]["clients"] if one["standing"] == "expelled"]
    assert expelled == ["c00", "c01", "c02", "c03"]
    assert document["wants_rewind"] is True
    assert document["diagnostics"]["clients"][0] == "c04"


def test_a_watch_that_only_reports_lets_everybody_speak(tmp_path):
    for number in (1, 2, 3):
        done = watched(tmp_path, number, "--set", "mode=report", "--json")
    document = json.loads(done.stdout)
    assert len(document["diagnostics"]["clients"]) == 20
    assert [one["since"] for one in document["verdicts"]["clients"]][:5] == [3, 3, 3, 3, None]
    assert document["wants_rewind"] is False


def test_a_watch_without_a_file_to_remember_in_is_a_wrong_use(round_):
    folder, _, _, at, clients = round_
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next", "--watch")
    assert done.exit_code == 2
    assert "--state FILE" in done.output
    assert not (folder / "next").exists()


def test_a_name_after_the_watch_is_answered_with_what_to_type(round_):
    folder, _, _, at, clients = round_
    files = ("--base", at, "--out", folder / "next", "--state", folder / "state")
    done = run("aggregate", *clients, *files, "--watch", "factions")
    assert done.exit_code == 1
    assert "--watch takes no value here: it is always factions, so leave the name out" in done.stderr


def test_a_path_that_does_not_exist_is_the_operators_mistake(round_):
    folder, _, _, at, clients = round_
    before = sorted(folder.rglob("*"))
    out = folder / "next.safetensors"
    for wrong in ([folder / "clients" / "*.safetensor"], [*clients, folder / "nobody", folder / "noone"]):
        done = run("aggregate", *wrong, "--base", at, "--out", out)
        assert done.exit_code == 1
        first = next(path for path in wrong if path not in clients)
        assert done.stderr.startswith(f"there is no file or folder {first}")
        assert done.stderr.endswith("; nothing was written\n")
        assert sorted(folder.rglob("*")) == before
    assert ", and 1 more of the given paths" in done.stderr


def test_a_dangling_link_may_be_a_clients_doing_and_is_dropped(round_):
    folder, _, _, at, clients = round_
    (folder / "clients" / "evil.safetensors").symlink_to(folder / "nothing")
    out = folder / "next.safetensors"
    done = run("aggregate", *clients, folder / "clients" / "evil.safetensors", "--base", at, "--out", out)
    assert done.exit_code == 0, done.output
    assert "7 clients aggregated, 1 dropped" in done.output


def test_an_output_that_cannot_be_written_is_refused_before_any_work(round_, monkeypatch):
    folder, _, _, at, clients = round_
    monkeypatch.setattr("holdfast.files.aggregate_files", None)
    for words in (("--out", at / "next"), ("--out", folder / "next", "--state", at / "state")):
        done = run("aggregate", *clients, "--base", at, *words)
        assert done.exit_code == 1
        assert done.stderr.startswith(f"cannot write to {at}: {at} is not a folder")


def test_an_interrupted_round_leaves_the_output_as_it_was(round_, monkeypatch):
    def interrupted(*clients, **how):
        raise KeyboardInterrupt

    folder, _, _, at, clients = round_
    monkeypatch.setattr("holdfast.files.aggregate_files", interrupted)
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next")
    assert done.exit_code == 130
    assert done.stderr == f"Interrupted. Nothing was written: {folder / 'next'} is as it was.\n"


def test_a_report_that_is_named_like_a_page_is_the_page_and_its_json_lies_beside_it(round_):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    folder, _, _, at, clients = round_
    done = run(
        "aggregate", *clients, "--base", at, "--out", folder / "next", "--report", folder / "round.html"
    )
    assert f"the report is in {folder / 'round.html'}" in done.output.replace("\n", "")
    assert "<html" in (folder / "round.html").read_text(encoding="utf-8")
    assert "diagnostics" in json.loads((folder / "round.json").read_text())


def test_json_beside_a_page_replaces_no_other_file_of_the_round(round_):
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    folder, _, _, at, clients = round_
    counts = folder / "round.json"
    counts.write_text("{}")
    files = ("--base", at, "--out", folder / "next", "--weights", counts, "--report", folder / "round.html")
    done = run("aggregate", *clients, *files)
    assert done.exit_code == 1
    assert "the weights and the report are the same path" in done.output.replace("\n", " ")
    assert counts.read_text() == "{}"


@pytest.mark.parametrize(("report", "other"), [("round.html", "round.json"), ("round.json", "round.html")])
def test_neither_part_of_a_report_can_be_a_folder(round_, report, other):
    folder, _, _, at, clients = round_
    (folder / other).mkdir()
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next", "--report", folder / report)
    assert done.exit_code == 1
    assert not (folder / "next").exists()
