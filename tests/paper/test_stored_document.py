"""All that is stored of a task, as tables that say what is what."""

from dataclasses import replace

from holdfast import invariant, median
from holdfast.core import bind
from holdfast.lab import TASKS, Attack, Defence, Run
from holdfast.paper.stored import stored_document
from holdfast.paper.studies.starts import WarmStart
from holdfast.report.pages import results_page
from holdfast.report.tables import document_text
from holdfast.runs.records import COLUMNS, Summary
from holdfast.runs.results import Result

TASK = replace(TASKS["digits"], name="mine", n_rounds=1)
MEASURED = Summary({name: [0.5] for name in COLUMNS})


def defended(rule, *, seed=0, name="strict", **changes):
    return Run(TASK, Attack("corner", 3), Defence(name, rule), seed).replace(**changes)


def document_of(*runs):
    return stored_document([Result(run.description, finished=True, packed=MEASURED) for run in runs])


def test_defences_of_one_name_are_told_apart_by_their_settings():
    runs = [defended(invariant(tau=tau)) for tau in (0.9, 0.2)]
    (table,) = document_of(*runs, defended(median, name="median"))["experiments"]
    assert table["rows"] == ["median", "strict (tau=0.2)", "strict (tau=0.9)"]
    assert {cell["row"]: cell["keys"] for cell in table["cells"]}["strict (tau=0.2)"] == [runs[1].key]


def test_tables_of_one_task_say_in_their_titles_what_differs_the_largest_first():
    slow = replace(TASK, train=bind(TASK.train, "training", lr=0.01))
    document = document_of(defended(median, seed=1), defended(median), replace(defended(median), task=slow))
    counts = "mine: 1 round, 20 of 50 clients each"
    assert 'class="rest"' not in results_page(document)  # which small screens leave out
    assert [one["title"] for one in document["experiments"]] == [f"{counts}, lr=0.1", f"{counts}, lr=0.01"]


def test_cells_with_fewer_seeds_than_others_say_so_and_the_note_names_the_seeds():
    runs = [defended(median, seed=seed) for seed in (7, 0)]
    document = document_of(*runs, defended(invariant(tau=0.9), name="other"))
    text = document_text(document, "markdown")
    assert "seeds 0, 7." in text
    assert "| other | .500 / .500 (1 of 2 seeds) |" in text
    assert "| strict | .500 ±.000 / .500 ±.000 |" in text
    assert "1 of 2 seeds" in results_page(document)


def test_what_a_probe_trained_to_start_from_is_no_result():
    run = defended(median)
    assert document_of(run, WarmStart(2).training(run))["runs"].keys() == {run.key}


def test_what_is_not_of_the_paper_speaks_of_no_paper_and_no_scale():
    document = document_of(defended(median), defended(median, n_rounds=2))
    for text in (*(document_text(document, form) for form in ("markdown", "latex")), results_page(document)):
        shown = text.partition("<script")[0].rpartition("</style>")[2]
        assert not any(word in shown.lower() for word in ("claim", "the paper", "scale “", "the scale"))
