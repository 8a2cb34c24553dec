import json

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

from holdfast.cli.commands import app
from holdfast.paper import experiments_named
from holdfast.paper.evidence import evidence
from holdfast.paper.experiment import runs_folder
from holdfast.runs.recording import run_and_record


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two real runs of table 4, at the smallest scale."""
    folder = tmp_path_factory.mktemp("results")
    (table,) = experiments_named(["table4"], scale="smoke", n_seeds=1, tasks=["phishing"])
    for cell in [cell for cell in table.cells if cell.runs][:2]:
        for _ in run_and_record(cell.runs[0], runs_folder(folder)):
            pass
    return folder


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def report(*words):
    done = CliRunner().invoke(app, ["report", *map(str, words)], env={"COLUMNS": "120"})
    assert "Traceback" not in done.output
    return done


def test_a_page_is_written_from_the_results_alone(results, tmp_path):
    before = contents(results)
    out = tmp_path / "page.html"
    done = report("table4", "--results", results, "--out", out, "--scale", "smoke", "--seeds", 1)
    assert done.exit_code == 0, done.output
    assert "1 experiment, 2 runs" in done.output
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert contents(results) == before


def test_a_page_is_not_written_to_a_file_that_is_named_like_something_else(results, tmp_path):
    refused = report("table4", "--results", results, "--out", tmp_path / "page.pdf")
    assert refused.exit_code == 1
    assert f"the page is HTML: write {tmp_path / 'page.html'}, not {tmp_path / 'page.pdf'}" in refused.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_report_with_studies_writes_its_figures_nowhere_but_where_asked(results, tmp_path):
    """The studies are part of the page; what lies in the folder of results is left alone."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install '.[report]')")
    made = tmp_path / "results"
    evidence(["figure5"], made, scale="smoke", n_seeds=1, make=True)
    before = contents(made)
    words = ("--results", made, "--out", tmp_path / "page.html", "--scale", "smoke", "--seeds", 1, "--json")
    assert json.loads(report("figure5", *words).stdout)["figures"] == []
    assert contents(made) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["page.html", "results"]
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("data:image/svg+xml;base64,") == 2
    drawn = json.loads(report("figure5", *words, "--figures", tmp_path / "drawn").stdout)["figures"]
    assert drawn == [str(tmp_path / "drawn" / f"{name}.png") for name in ("figure5", "mimicry")]
    assert contents(made) == before


@pytest.mark.parametrize(
    ("format_", "name"), [("markdown", "md"), ("csv", "csv"), ("latex", "tex"), ("json", "json")]
)
def test_other_formats_have_a_file_of_their_own(results, tmp_path, monkeypatch, format_, name):
    monkeypatch.chdir(tmp_path)
    done = report("table4", "--results", results, "--scale", "smoke", "--format", format_)
    assert done.exit_code == 0, done.output
    assert "AND-mask" in (tmp_path / f"report.{name}").read_text(encoding="utf-8")


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_curves_are_drawn_as_files(results, tmp_path, kind, start):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install '.[report]')")
    words = ["--results", results, "--out", tmp_path / "p.html", "--scale", "smoke", "--json"]
    done = report("table4", *words, "--figures", tmp_path / "figures", "--figure-format", kind)
    (figure,) = json.loads(done.stdout)["figures"]
    assert figure == str(tmp_path / "figures" / f"table4-phishing.{kind}")
    assert (tmp_path / "figures" / f"table4-phishing.{kind}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--format", "word"], "a report's format must be one of html, markdown"),
        (["--figure-format", "gif"], "a figure must be one of png, svg, pdf; got 'gif'"),
        (["tabel4"], "no experiment 'tabel4'; did you mean 'table4'?"),
        (["--results", "nowhere"], "no results at nowhere: make some with 'holdfast reproduce'"),
        (["--scale", "huge"], "scale must be one of"),
    ],
)
def test_what_cannot_be_shown_is_answered_in_a_line(results, tmp_path, words, answer):
    done = report("--results", results, "--out", tmp_path / "p.html", *words)
    assert done.exit_code == 1
    assert answer in done.stderr
    assert not list(tmp_path.iterdir())
