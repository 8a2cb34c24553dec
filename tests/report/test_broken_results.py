"""Whatever stands in a stored result, it ends no report and no resume: it is used, or said to be unusable."""

import json

import pytest

from holdfast.paper.evidence import evidence
from holdfast.paper.experiment import Cell, Experiment, document
from holdfast.report.pages import results_page
from holdfast.report.tables import document_text
from holdfast.runs.recording import find_current
from holdfast.runs.results import list_results, pack_results
from holdfast.runs.store import files_of

from ..runs.tiny import made, tiny_run, watched_run

INSTEAD = (None, True, "x", -1, 10**400, 1e999, float("nan"), [], ["x"], [[]], [None], {}, {"x": "x"})
MOST_EDITS = 400  # of some thousand, evenly spread
RUNS = {"plain": tiny_run("trimmed_mean"), "watched": watched_run()}


def places(value, path=()):
    """Yield where something stands in an entry; of a list, the first and the last."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from places(item, (*path, key))
    elif isinstance(value, list):
        for number in sorted({0, len(value) - 1} if value else ()):
            yield from places(value[number], (*path, number))


def edited(entry, path, instead):
    """Return an entry with something else in a place, or with nothing there."""
    entry = json.loads(json.dumps(entry))
    *way, last = path
    inside = entry
    for step in way:
        inside = inside[step]
    if instead == "nothing":
        del inside[last]
    else:
        inside[last] = instead
    return entry


@pytest.fixture(scope="module", params=[(kind, packed) for kind in RUNS for packed in (False, True)], ids=str)
def stored(request, tmp_path_factory):
    """Return a run, the file that holds its result alone, and the entry in it."""
    kind, is_packed = request.param
    run, folder = RUNS[kind], tmp_path_factory.mktemp("results")
    made(run, folder / "runs")
    if is_packed:
        pack_results(folder / "runs")
    path = folder / "runs" / "phishing.jsonl" if is_packed else files_of(run.key, folder / "runs").result
    return run, folder, path, json.loads(path.read_text())


def test_no_edited_result_ends_a_report_or_a_resume(stored):
    run, folder, path, entry = stored
    cell = Cell("row", "column", run.task.name, run.attack.name, run.defence.name, (run,), 1)
    experiment = Experiment("one", "One", "table", "", (cell,))
    n_used = n_refused = 0
    edits = [
        (where, instead)
        for where in places(entry)
        if where and where[0] != "description"  # of which any change is found by its key
        for instead in (*INSTEAD, "nothing")
    ]
    for where, instead in edits[:: len(edits) // MOST_EDITS + 1]:
        path.write_text(json.dumps(edited(entry, where, instead), separators=(",", ":")) + "\n")
        result, unusable = find_current(run, folder / "runs")
        listed, elsewhere = list_results(folder / "runs")
        assert len(listed) + len(elsewhere) == 1
        assert result or unusable or where == ("key",)  # under which a packed one is not found
        found = document([experiment], folder, scale="cpu")
        results_page(found)
        document_text(found, "csv")
        n_used, n_refused = n_used + bool(result), n_refused + bool(unusable)
    assert n_used > 10
    assert n_refused > 100


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mean of empty slice", "ignore:invalid value")
def test_no_edited_study_ends_a_report(tmp_path):
    told = {"names": ["separable-minima"], "folder": tmp_path, "scale": "smoke", "n_seeds": 1}
    evidence(**told, make=True)
    (path,) = (tmp_path / "studies").glob("*.json")
    entry = json.loads(path.read_text())
    n_used = n_left_out = 0
    for where in places(entry["found"]):
        for instead in (*INSTEAD, "nothing"):
            path.write_text(json.dumps(edited(entry, ("found", *where), instead)))
            is_used = bool(evidence(**told)["experiments"])
            n_used, n_left_out = n_used + is_used, n_left_out + (not is_used)
    assert n_used > 3
    assert n_left_out > 30
