"""Every stored result is what its description says, and is used; the tables of the docs come from them."""

import json
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from holdfast import aggregators
from holdfast.paper import experiments_named
from holdfast.paper.evidence import STUDIES, evidence
from holdfast.paper.experiment import runs_folder, runs_of
from holdfast.paper.network_table import NETWORKS
from holdfast.paper.studies import analyses_of
from holdfast.paper.studies.store import list_studies, studies_folder
from holdfast.runs.results import list_results
from holdfast.runs.store import checked

ROOT = Path(__file__).parent.parent.parent
RESULTS, DOCS = ROOT / "results", ROOT / "docs"


def is_probe(study):
    return study["description"]["study"].startswith("rules_on_a_round(")


def is_of_the_network(study):
    """Return whether a study is one of `benchmarks.paper_network`, which has one seed."""
    return study["description"]["run"]["task"]["name"] in NETWORKS


@cache
def wanted():
    return runs_of(experiments_named(["all", "worst_case"]))


def test_every_stored_run_can_be_used_and_belongs_to_a_table():
    results, unusable = list_results(runs_folder(RESULTS))
    assert unusable == {}
    assert len(results) > 400
    for result in results:
        if not result.packed:
            continue  # somebody's own trial, which git does not track
        assert result.finished
        assert result.key in wanted(), f"no table has the run {result.described}"
        assert json.loads(json.dumps(wanted()[result.key].description)) == result.description


def test_runs_of_the_same_data_were_made_from_the_same_examples():
    checksums = {}
    for result in list_results(runs_folder(RESULTS))[0]:
        checksums.setdefault(result.description["task"]["data"], set()).add(result.data)
    assert len(checksums) == 11
    assert all(len(found) == 1 for found in checksums.values())


def test_every_stored_study_can_be_used_and_belongs_to_a_figure():
    stored, unusable = list_studies(studies_folder(RESULTS))
    assert unusable == {}
    found = [one for one in stored if not is_probe(one) and not is_of_the_network(one)]
    names = {study.identity for name in STUDIES for study in analyses_of(name).values()}
    assert sorted({one["description"]["study"] for one in found}) == sorted(names)
    assert len(found) == 3 * len(names)
    experiments = [one["name"] for one in measured()["experiments"]]
    assert experiments[-len(STUDIES) :] == list(STUDIES)


def test_every_stored_probe_ran_all_its_rules_and_stands_on_its_page():
    page = (DOCS / "probe.md").read_text(encoding="utf-8")
    stored = list_studies(studies_folder(RESULTS))[0]
    probes = [one["found"] for one in stored if is_probe(one) and not is_of_the_network(one)]
    assert len(probes) > 12
    for found in probes:
        assert not any(rule["reason"] for rule in found["rules"])
        assert f"{found['accuracy']:.2f}, {found['attack_success']:.2f}" in page
    whole = [[rule["rule"].partition("(")[0] for rule in found["rules"]] for found in probes]
    assert whole.count([*aggregators.__all__]) == len(whole)


def test_packed_files_are_sorted_and_written_as_packing_writes_them():
    files = [*runs_folder(RESULTS).glob("*.jsonl"), *studies_folder(RESULTS).glob("*.jsonl")]
    n_entries = sum(len(path.read_bytes().splitlines()) for path in files)
    assert 0 < sum(path.stat().st_size for path in files) < 5_000 * n_entries
    for path in files:
        lines = path.read_bytes().splitlines()
        entries = [checked(line) for line in lines]
        assert [entry["key"] for entry in entries] == sorted({entry["key"] for entry in entries})
        for entry, line in zip(entries, lines, strict=True):
            assert json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode() == line


@cache
def measured():
    return evidence(["all", "worst_case"], RESULTS)


@cache
def fill():
    return runpy.run_path(str(DOCS / "fill.py"))


FILLED = sorted(
    str(path.relative_to(DOCS))
    for path in DOCS.rglob("*.md")
    if re.search(r"<!-- (?!benchmark)\S+:start -->", path.read_text())
)


def test_all_pages_with_results_are_found():
    assert {"results.md", "watch.md", "probe.md", "rules.md", "attacks.md"} < set(FILLED)
    assert sorted(str(path.relative_to(DOCS)) for path in fill()["pages"]()) == FILLED


@pytest.mark.parametrize("name", FILLED)
def test_the_tables_of_the_page_are_made_from_the_stored_results(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert page.count(":start -->") == page.count(":end -->") == len(fill()["marks"](page))
    assert fill()["filled"](page, measured()) == page, "make fill"


def test_everything_measured_stands_on_a_page_once_and_what_nobody_has_placed_on_that_of_all_tables():
    marks = [name for path in fill()["pages"]() for name in fill()["marks"](path.read_text())]
    tables = [one["name"] for one in measured()["experiments"]]
    assert [name for name in tables if marks.count(name) > 1] == []
    page = (DOCS / "results" / "tables.md").read_text(encoding="utf-8")
    for one in fill()["unplaced"](measured()):
        assert f"### {one['title']}\n" in page


def test_the_page_of_results_is_for_a_reader():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    told = page.partition("## All of it")[0]
    assert len(re.findall(r"^\| ---", told, re.M)) <= 3
    assert len(re.findall(r"^!\[", page, re.M)) <= 3
    headings = re.findall(r"^## (.+)$", page, re.M)
    assert {"What holds, and what does not", "Why", "What to use instead"} < set(headings)


def test_every_file_that_the_pages_link_to_is_there():
    for path in (DOCS / "results.md", *(DOCS / "results").glob("*.md")):
        targets = re.findall(r"\]\((?!http|#)([^)#\s]+)", path.read_text(encoding="utf-8"))
        made = ("choose.md",)
        assert [one for one in targets if one not in made and not (path.parent / one).exists()] == []


CODE = """
import sys
sys.modules["torch"] = None
from pathlib import Path
from holdfast.paper.evidence import evidence
found = evidence(["all", "worst_case"], Path(sys.argv[1]))
print(len(found["runs"]), [one["name"] for one in found["experiments"]][-1], found["unusable"])
"""


def test_all_of_it_is_read_without_torch():
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(RESULTS)], capture_output=True, text=True, cwd=ROOT
    )
    n_runs, *rest = done.stdout.split()
    assert (int(n_runs), rest) == (len(measured()["runs"]), ["separable-minima", "{}"]), done.stderr
