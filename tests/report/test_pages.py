import copy
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import holdfast
from holdfast import Diagnostics
from holdfast.core.diagnostics import Dropped
from holdfast.report.conclusions import Conclusion
from holdfast.report.pages import demo_page, results_page, round_page, write_round

from .conftest import HOSTILE
from .documents import cell, claim, compared_document, experiment, run, spread

EMPTY = {"version": "0.1.0", "scale": "cpu", "claims": [], "experiments": [], "runs": {}, "unusable": {}}

SECTION = re.compile(r'<section id="([\w-]+)".*?</section>', re.S)


def sections(document):
    """Return the sections of a page by id, without the spaces between elements."""
    return {found[1]: re.sub(r"\s*\n\s*", "", found[0]) for found in SECTION.finditer(results_page(document))}


def test_a_page_of_nothing_says_so():
    page = results_page(EMPTY)
    assert page.startswith("<!doctype html>")
    assert "No claims are part of this document." in page
    assert "Nothing was measured yet." in page


def test_the_last_ten_rounds_are_a_choice_where_there_are_more(measured):
    assert "Mean of the last ten rounds" in results_page(measured)
    for one in measured["experiments"][0]["cells"]:
        one["measured"] = one["measured"] and {**one["measured"], "longest": 10}
    assert "Mean of the last ten rounds" not in results_page(measured)


def test_the_page_names_no_address(measured):
    found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", results_page(measured))
    assert set(found) <= {"http://www.w3.org"}


def test_the_same_document_gives_the_same_page(measured):
    measured["experiments"].append(figure6())
    assert results_page(measured) == results_page(json.loads(json.dumps(measured)))


def test_the_facts_say_version_and_scale(measured):
    assert "scale “smoke” · 1 experiment · 6 runs" in results_page(measured)


def test_only_addresses_become_links_and_all_is_escaped(measured):
    links = {
        "MLflow": "https://flow.example/#/experiments/1/runs/2?a=1&b=2",
        "TensorBoard": "tensorboard --logdir '<b>logs</b>'",
        "W&B": "javascript:alert(1)",
        "Evil": 'https://evil.example/"onclick="alert(1)',
    }
    page = results_page(measured, links=links)
    head = page[page.index("<header>") : page.index("</header>")]
    assert re.findall(r'<a href="(.*?)"', head) == [
        "https://flow.example/#/experiments/1/runs/2?a=1&amp;b=2",
        "https://evil.example/&#34;onclick=&#34;alert(1)",
    ]
    assert "<li>TensorBoard: <code>tensorboard --logdir &#39;&lt;b&gt;logs&lt;/b&gt;&#39;</code></li>" in head
    assert "<li>W&amp;B: <code>javascript:alert(1)</code></li>" in head
    assert '<ul class="facts links">' not in results_page(measured)


class Balanced(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "img", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_elements_of_a_page_are_closed_in_order(measured):
    measured["experiments"].append(figure6())
    parser = Balanced()
    parser.feed(results_page(measured))
    assert parser.open == []


def test_verdicts_are_counted_and_unknown_ones_are_too(measured):
    measured["claims"] = [claim("holds", "A"), claim("holds", "B"), claim("unheard of", "C")]
    text = sections(measured)["claims"]
    for count, verdict in ((2, "holds"), (0, "does not hold"), (0, "preliminary"), (1, "unheard of")):
        assert f"<b>{count}</b> {verdict}</button>" in text


def test_the_same_claim_on_several_tasks_is_written_once_and_what_was_measured_comes_first(measured):
    measured["claims"] = [
        claim("not measured", "Later."),
        claim("holds", "It holds.", task="phishing"),
        claim("does not hold", "It holds.", task="digits"),
    ]
    text = sections(measured)["claims"]
    assert text.count("It holds.") == 1
    assert text.index("on phishing") < text.index("on digits") < text.index("Later.")


def test_stored_results_that_cannot_be_used_are_listed_with_the_reason(measured):
    assert "cannot be used" not in results_page(measured)
    measured["unusable"] = {"abc": "made by <another> version"}
    text = sections(measured)["reading"]
    assert "<summary>1 stored result cannot be used" in text
    assert '<th scope="row"><code>abc</code></th><td>made by &lt;another&gt; version</td>' in text


def test_every_section_is_linked_with_a_short_name_first(measured):
    measured["experiments"][0]["title"] = "Table 1: all <defences>"
    link = 'href="#experiment-0">Table 1<span class="rest">: all &lt;defences&gt;</span>'
    assert link in results_page(measured)


def test_one_experiment_without_claims_has_a_page_without_contents(measured):
    measured["claims"] = []
    assert list(sections(measured)) == ["experiment-0", "reading"]
    assert "<nav" not in results_page(measured)


def test_every_head_of_a_table_has_a_scope_and_every_table_a_caption(measured):
    page = results_page(measured)
    assert page.count("<table") == page.count("<caption>") == 2
    assert not re.findall(r"<th(?=[ >])(?![^>]*scope=)", page)


def test_columns_say_seeds_scale_and_what_they_stand_in_for(measured):
    measured["experiments"][0]["cells"][0] |= {"stands_in_for": "cifar10", "n_seeds": 1}
    text = sections(measured)["experiment-0"]
    assert "for cifar10" in text
    assert "1 to 2 seeds" in text
    assert "scale “smoke”" in text


def test_an_experiment_without_runs_has_its_printed_numbers_and_no_curves(measured):
    for one in measured["experiments"][0]["cells"]:
        one |= {"measured": None, "keys": [], "n_seeds": 0}
    text = sections(measured)["experiment-0"]
    assert "not measured" in text
    assert "paper 87.5" in text
    assert "curves" not in text


def test_the_colour_is_the_deeper_the_more_the_attack_succeeds(measured):
    for share, one in zip((0.04, 0.96), measured["experiments"][0]["cells"], strict=False):
        one["measured"]["attack_success"] = {"mean": share}
    levels = re.findall(r'data-level="(\d+)"', sections(measured)["heat"])
    assert levels[:2] == ["0", "10"]


def test_of_two_experiments_with_the_same_pair_the_first_counts(measured):
    other = copy.deepcopy(measured)
    first, second = measured["experiments"][0], other["experiments"][0]
    second["cells"][0]["measured"]["attack_success"]["mean"] = 0.123
    alone = sections(measured)["heat"]
    assert sections({**measured, "experiments": [first, second]})["heat"] == alone
    assert "12.3" in sections({**measured, "experiments": [second, first]})["heat"]


def test_studies_are_shown_as_names_and_numbers(measured):
    studies = {"mimicry": {"at_paper_share": 0.93456, "by round": [0.1, 0.25]}, "findings": ["a claim"]}
    measured["experiments"] = [experiment([], studies=studies)]
    text = sections(measured)["experiment-0"]
    assert '<th scope="row">mimicry · at paper share</th><td>0.9346</td>' in text
    assert "<td>0.1, 0.25</td>" in text
    assert "a claim" not in text  # it is among the claims


def figure6():
    """Return an experiment that is drawn: one cell per value of τ."""
    cells = [cell(f"τ = {x}", {str(x): run("FedAvg", 0)}, x=x) for x in (0.2, 0.6)]
    return experiment(cells, name="figure6a", title="Figure 6a: τ", kind="figure", axis="τ")


def test_a_figure_is_carried_inside_the_page_with_its_caption(measured):
    measured["experiments"] = [figure6()]
    text = sections(measured)["experiment-0"]
    assert re.search(r'<img src="data:image/svg\+xml;base64,[\w+/=]+" alt="The invariant', text)
    assert "<figcaption>The invariant aggregator over τ" in text


def test_a_large_drawing_is_carried_as_dots(measured, monkeypatch):
    monkeypatch.setattr("holdfast.report.figures.LARGE", 1000)
    measured["experiments"] = [figure6()]
    assert "data:image/png;base64,iVBORw0KGgo" in sections(measured)["experiment-0"]


def concluded(**changes):
    """Return what a training may come to, as documents have it."""
    told = Conclusion("kept out", "Why <so>.", "eve and moe.", "Repeat it:", "holdfast compare digits")
    return replace(told, **changes).as_dict()


def demo_of(measured, verdicts=None, seed=0, **changes):
    rows = measured["experiments"][0]["rows"]
    return demo_page(
        {**measured, "conclusion": concluded(**changes)},
        verdicts=[verdicts or dict.fromkeys(rows, "kept out")],
        defences={row: f"what {row} does" for row in rows},
        seed=seed,
    )


def test_the_demo_has_a_row_per_defence_with_its_verdict(measured):
    rows = measured["experiments"][0]["rows"]
    page = demo_of(measured, {**dict.fromkeys(rows, "kept out"), "FedAvg": "got in"}, seed=3)
    assert re.findall(r"<tr><th scope=\"row\"><code>(.*?)</code>.*?</tr>", page, re.S) == rows
    assert page.count("<b>kept out</b>") == 3
    assert "what Invariant does" in page
    assert "with seed 3" in page


def test_a_page_begins_with_the_verdict_the_suspects_and_what_to_do(measured):
    pages = [demo_of(measured, code="defend(models, invariant)")]
    pages.append(results_page({**measured, "conclusion": concluded(code="defend(models, invariant)")}))
    for page in pages:
        main = page.partition("<main")[2]
        assert main.index('class="banner" data-word="kept out"') < main.index("<table")
        assert "The backdoor was kept out</h2>" in main
        assert "<dd>Why &lt;so&gt;.</dd>" in main
        assert "<dd>eve and moe.</dd>" in main
        assert '<code class="typed">holdfast compare digits</code>' in main
        assert 'In a server of your own:<code class="typed">defend(models, invariant)</code>' in main
    assert "In a server of your own" not in demo_of(measured)


def hostile_round():
    return Diagnostics(
        rule="median",
        clients=(HOSTILE, "ann"),
        dropped=(Dropped("bob", HOSTILE),),
        notes=(HOSTILE,),
        covered=True,
        tolerates=1,
        promise="every coordinate stays within the range",
        kept_fraction=0.25,
        selected=np.array([True, False]),
        norms=np.array([np.inf, 2.0]),
        trimmed_share=np.array([0.5, 0.25]),
        consistency=np.array([3, 0, 1]),
    )


def test_the_page_of_a_round_has_its_diagnostics_and_no_markup_of_a_client():
    page = round_page({"rule": HOSTILE, "diagnostics": hostile_round().as_dict()})
    assert "<script" not in page
    assert "<img" not in page
    text = re.sub(r"\s*\n\s*", "", page)
    assert "<td>yes</td><td>–</td><td>50.0%</td>" in text  # a length that is not finite is a dash
    assert "<td>no</td><td>2</td><td>25.0%</td>" in text
    assert "Guaranteed: if at most 1 of 2 clients is malicious, " in text
    assert "this does not exclude a backdoor." in text
    assert "keeps 25.0 % of the coordinates" in text


@pytest.mark.parametrize(
    ("counts", "shares"),
    [([3, 0, 1], {0: "75.0", 9: "25.0"}), ([0, 0], {}), ([5], {0: "100.0"})],
)
def test_agreement_is_shown_by_tenths(counts, shares):
    told = Diagnostics(rule="median", clients=(1,), consistency=np.array(counts)).as_dict()
    page = round_page({"diagnostics": told})
    expected = [f"{shares.get(tenth, '0.0')} %" for tenth in range(10)] if shares else []
    assert re.findall(r"<td>([\d.]+ %)</td>", page) == expected


def test_a_round_without_a_model_says_so():
    told = Diagnostics(rule="median", clients=(), aggregated=False).as_dict()
    assert "Not aggregated: the model stays as it is." in round_page({"diagnostics": told})


@pytest.mark.parametrize("named", ["round.json", "round.html"])
def test_a_round_is_written_as_json_and_as_a_page_whichever_of_them_is_named(tmp_path, named):
    name, page = "round.json", "round.html"
    document = {"base": "model", "diagnostics": hostile_round().as_dict()}
    assert write_round(document, tmp_path / "new" / named) == tmp_path / "new" / page
    written = json.loads((tmp_path / "new" / name).read_text())
    assert written == {"holdfast": holdfast.__version__, **document}
    assert {path.name for path in (tmp_path / "new").iterdir()} == {name, page}


def test_a_minority_has_a_column_where_it_was_measured(measured):
    assert "Minority" not in "".join(sections(measured).values())
    one = measured["experiments"][0]["cells"][0]
    one["measured"] |= {name: spread(0.123) for name in ("minority_accuracy", "last10_minority_accuracy")}
    found = sections(measured)
    assert "<b>Minority</b>: the accuracy on the test inputs in the" in found["reading"]
    heads = re.findall(r'<th scope="col">(\w+)</th>', found["experiment-0"])
    assert heads == ["Acc", "Minority", "ASR"]
    assert 'colspan="3"' in found["experiment-0"]
    assert "12.3" in found["experiment-0"]


def cells_of(document, row):
    """Return the words of each cell in a row of the first table, hidden ones too."""
    section = sections(document)["experiment-0"]
    text = next(part for part in section.split("<tr>") if part.startswith(f'<th scope="row">{row}'))
    return [re.sub(r"<[^>]+>", " ", f"<td{cell}").split() for cell in text.split("<td")[1:]]


def test_a_comparison_shows_margins_and_differences_to_its_baseline():
    document = compared_document()
    accuracy, success = cells_of(document, "Invariant")
    assert accuracy[:2] == ["90.5", "±6.4"]
    assert accuracy[8:12] == ["+0.0", "±0.0", "+0.0", "±0.0"]
    assert success[8:12] == ["−80.0", "±0.0*", "−48.0", "±0.0*"]
    assert cells_of(document, "FedAvg")[0][8:] == ["2", "of", "3", "seeds"]
    page = results_page(document)
    assert (
        'title="lowest −80.0, highest −80.0; 95 % interval −80.0 to −80.0; p = 0 by the paired t test"'
        in page
    )
    assert "difference to FedAvg, seed by seed" in page
    assert page.count('<span class="printed"> baseline</span>') == 1
    assert "± half of its 95 % interval" in page
    assert "what the paper prints" not in page


def test_what_a_watch_counts_has_columns_in_a_comparison_alone(measured):
    document = compared_document()
    for one in (*measured["experiments"], *document["experiments"]):
        names = ("n_found", "n_wronged", "last10_n_found", "last10_n_wronged")
        one["cells"][2]["measured"] |= {name: spread(4, 5) for name in names}
    assert cells_of(document, "Invariant")[2][:2] == ["4.5", "±6.35"]
    assert cells_of(document, "FedAvg")[3][0] == "–"
    assert "<b>Wrongly</b>" in results_page(document)
    assert "Wrongly" not in results_page(measured)
    for one in document["experiments"][0]["cells"]:
        one["measured"] = one["measured"] and one["measured"] | {"n_attackers": 0.0}
    heads = re.findall(r'<th scope="col">(\w+)</th>', results_page(document))
    assert heads[:3] == ["Acc", "ASR", "Wrongly"]  # there is nobody to find


def test_the_table_of_a_comparison_comes_before_the_words_on_how_to_read_it(measured):
    assert list(sections(measured)) == ["heat", "experiment-0", "reading", "claims"]
    found = sections(compared_document())
    assert list(found) == ["experiment-0", "reading"]
    assert '<a href="#reading">How to read it</a>' in found["experiment-0"]
