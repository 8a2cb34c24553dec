import json

import pytest
from typer.testing import CliRunner

from holdfast import bind, multi_krum, rfa
from holdfast.cli import app
from holdfast.files import aggregate_files

from ..files.rounds import assert_same, in_memory, some_models, write_round

runner = CliRunner()


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
    expected, _ = in_memory(base, [models[0], *models[2:]], bind(multi_krum, n_malicious=1))
    assert_same(out, expected)


def test_json_is_one_document(round_):
    folder, _, _, at, clients = round_
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next", "--json")
    document = json.loads(done.stdout)
    assert document["rule"] == "invariant(tau=0.6, alpha=0.25, strict=False)"
    assert document["diagnostics"]["clients"] == [path.stem for path in clients]


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
    assert "http" not in page


def test_shards_and_merge_make_the_same_file(round_):
    folder, _, _, at, clients = round_
    common = ("--base", at, "--rule", "rfa", "--out", folder / "next")
    report = folder / "report.json"
    for _ in range(2):
        for shard in ("1/2", "2/2"):
            done = run("aggregate", *clients, *common, "--shard", shard, "--report", report)
            assert done.exit_code == 0, done.output
    assert "all passes are done" in done.output
    merged = run("merge", folder / "next", "--report", report)
    assert merged.exit_code == 0, merged.output
    aggregate_files(clients, bind(rfa), base=at, out=folder / "alone")
    assert (folder / "next").read_bytes() == (folder / "alone").read_bytes()
    assert json.loads(report.read_text())["diagnostics"]["norms"]
    again = run("merge", folder / "next")
    assert again.exit_code == 1
    assert "nothing to merge" in again.output


def test_merge_says_which_shards_are_missing(round_):
    folder, _, _, at, clients = round_
    common = ("--base", at, "--out", folder / "next", "--shard")
    done = run("aggregate", *clients, *common, "1/3", "--json")
    assert json.loads(done.stdout) == {"shard": 1, "n_shards": 3, "pass": 1, "missing": [2, 3]}
    merged = run("merge", folder / "next")
    assert merged.exit_code == 1
    assert "pass 1 is not done yet: run the shards 2/3, 3/3" in merged.output
    other = run("aggregate", *clients, *common, "2/3", "--set", "tau=0.5")
    assert other.exit_code == 1
    assert "holds the shards of another round" in other.output
    assert run("aggregate", *clients, *common, "4/3").exit_code == 1
    assert run("aggregate", *clients, *common, "a/b").exit_code == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (("--rule", "inwariant"), "did you mean 'invariant'?"),
        (("--set", "alfa=1"), "did you mean 'alpha'?"),
        (("--memory", "much"), "written like 500MB or 1GB"),
        (("--base", "nothing.safetensors"), "cannot be opened"),
        (("--workers", "dask"), "ray://address:port"),
        (("--rule", "fltrust"), "needs a reference"),
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
        path.unlink()
    done = run("aggregate", *clients, "--base", at, "--out", folder / "next")
    assert done.exit_code == 3
    assert "NOT AGGREGATED" in done.output
    assert (folder / "next").read_bytes() == at.read_bytes()
