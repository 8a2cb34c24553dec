"""The page as a person meets it: a real browser, a pointer, a keyboard, a phone."""

import json
from importlib.resources import files

import numpy as np
import pytest

from holdfast import Diagnostics
from holdfast.report.kit import percent
from holdfast.report.pages import results_page, round_page

from .conftest import HOSTILE
from .documents import compared_document
from .test_pages import demo_of

pytestmark = pytest.mark.browser

ROWS = ["FedAvg", "Trimmed mean", "Invariant"]


def by_round(document, row, name, round_):
    """Return mean, lowest and highest of the seeds, from the document."""
    cell = next(cell for cell in document["experiments"][0]["cells"] if cell["row"] == row)
    numbers = [document["runs"][key]["series"][name][round_ - 1] for key in cell["keys"]]
    return sum(numbers) / len(numbers), min(numbers), max(numbers)


def lines(page, metric="attack_success"):
    found = page.locator(f"[data-metric={metric}] .line[data-row]")
    return [line.get_attribute("data-row") for line in found.all()]


def point_at(page, metric, round_, n_rounds=5):
    """Move the pointer to a round, at the height of the top of the chart."""
    chart = page.locator(f"[data-metric={metric}] svg.chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    grid = chart.locator(".grid").first
    start, end = float(grid.get_attribute("x1")), float(grid.get_attribute("x2"))
    page.mouse.move(box["x"] + start + (round_ - 1) / (n_rounds - 1) * (end - start), box["y"] + 12)


def shown_numbers(page, row):
    return page.locator(f".legend tr[data-row='{row}'] td").all_inner_texts()


def test_the_page_loads_without_a_complaint_and_without_a_request(opened):
    page = opened()  # complaints are looked for when it is closed
    assert page.title() == "holdfast: what was measured"
    assert lines(page) == ROWS


def test_the_page_forbids_itself_to_ask_a_network(opened):
    page = opened()
    refused = """new Promise((done) => {
        document.addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
        const image = new Image(); image.src = "http://127.0.0.1:9/x.png"; })"""
    assert page.evaluate(refused) == "img-src"
    assert "The action has been blocked" in opened.complaints[0]
    opened.complaints.clear()


def test_the_numbers_of_the_tables_equal_the_document(opened, measured):
    page = opened()
    carried = json.loads(page.locator("#document").text_content())
    assert carried == json.loads(json.dumps(measured))
    for cell in carried["experiments"][0]["cells"]:
        row = page.locator(
            "#table-0 tbody tr", has=page.get_by_role("rowheader", name=cell["row"], exact=True)
        )
        texts = row.locator("td").all_inner_texts()
        for text, name in zip(texts, ("accuracy", "attack_success"), strict=True):
            if cell["measured"] is None:
                assert text == "–"
                continue
            spread = cell["measured"][name]
            ours, *beneath = text.split("\n")
            assert ours == f"{percent(spread['mean'])} ±{percent(spread['std'])}"
            printed = [f"paper {percent(cell['printed'][name])}"] if cell["printed"] else []
            assert beneath == [*printed, "2 of 3 seeds"]


def test_each_seed_is_shown_on_demand(opened, measured):
    page = opened()
    seeds = page.locator("#table-0 .last .seeds").first
    button = page.get_by_role("button", name="Each seed")
    assert not seeds.is_visible()
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    values = measured["experiments"][0]["cells"][0]["measured"]["accuracy"]["values"]
    assert seeds.inner_text() == " ".join(map(percent, values))
    button.click()
    assert not seeds.is_visible()


def test_the_table_can_show_the_last_ten_rounds(opened, measured):
    page = opened()
    page.get_by_role("button", name="Mean of the last ten rounds").click()
    shown = page.locator("#table-0 tbody td").first.inner_text()
    spread = measured["experiments"][0]["cells"][0]["measured"]["last10_accuracy"]
    assert shown.startswith(f"{percent(spread['mean'])} ±{percent(spread['std'])}")


def test_a_name_in_the_legend_hides_its_line_and_shows_it_again(opened):
    page = opened()
    button = page.locator(".legend button[data-line='FedAvg']")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert lines(page) == lines(page, "accuracy") == ROWS[1:]
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert lines(page) == lines(page, "accuracy") == ROWS
    page.get_by_role("button", name="Hide all").click()
    assert lines(page) == []
    page.get_by_role("button", name="Show the first choice").click()
    assert lines(page) == ROWS


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_lines_are_hidden_by_the_keyboard_too(opened, key):
    page = opened()
    page.get_by_role("slider", name="Round").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.line") == "FedAvg"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press(key)
    assert lines(page) == ROWS[1:]
    page.keyboard.press("Tab")
    page.keyboard.press(key)
    assert lines(page) == ROWS[2:]


def test_pointing_at_a_round_shows_its_numbers(opened, measured):
    page = opened()
    for name in ROWS[:2]:
        page.locator(f".legend button[data-line='{name}']").click()
    point_at(page, "attack_success", 3)
    mean, low, high = by_round(measured, "Invariant", "attack_success", 3)
    tip = page.locator("[data-metric=attack_success] .tip")
    assert tip.inner_text() == (
        f"Invariant round 3: ASR {percent(mean)}% ({percent(low)} to {percent(high)}, 2 seeds)"
    )
    assert page.locator(".legend caption").inner_text() == "Round 3 of 5, in percent"
    page.mouse.move(0, 0)
    assert not tip.is_visible()


def test_the_legend_has_the_numbers_of_the_round_of_every_line(opened, measured):
    page = opened()
    names = ("accuracy", "attack_success", "kept_fraction")
    for round_ in (5, 2):
        for row in ROWS:
            masks = row == "Invariant"
            expected = [percent(by_round(measured, row, name, round_)[0]) for name in names[: 2 + masks]]
            assert shown_numbers(page, row) == expected + ["–"] * (not masks)
        point_at(page, "accuracy", 2)


def test_the_round_is_chosen_by_the_keyboard_too(opened, measured):
    page = opened()
    slider = page.get_by_role("slider", name="Round")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "round 4 of 5"
    assert shown_numbers(page, "FedAvg")[1] == percent(by_round(measured, "FedAvg", "attack_success", 4)[0])
    page.keyboard.press("Home")
    assert page.locator(".legend caption").inner_text() == "Round 1 of 5, in percent"


def test_axes_can_be_fitted_to_the_numbers(opened):
    page = opened()
    ticks = page.locator("[data-metric=accuracy] .tick")
    assert ticks.first.text_content() == "0%"
    page.get_by_role("button", name="Fit the axes").click()
    assert ticks.first.text_content() != "0%"


def test_attackers_are_marked_among_the_clients(opened, measured):
    page = opened()
    key = page.locator(".clients select").input_value()
    run = measured["runs"][key]
    bars = page.locator(".bars .bar").all()
    assert {bar.get_attribute("data-client") for bar in bars} == set(run["trim_share"])
    marked = page.locator(".bars .bar.attacks").all()
    assert {int(bar.get_attribute("data-client")) for bar in marked} == set(run["malicious"])
    assert page.locator(".bars .attacker").count() == len(run["malicious"])
    shares = [run["trim_share"][str(client)] for client in run["malicious"]]
    assert (
        f"trimmed in {percent(sum(shares) / len(shares))} %" in page.locator(".clients .summary").inner_text()
    )


def test_the_clients_are_a_table_on_demand(opened, measured):
    page = opened()
    page.locator(".shares summary").click()
    page.locator(".shares tbody").wait_for()
    run = measured["runs"][page.locator(".clients select").input_value()]
    rows = [row.split("\t") for row in page.locator(".shares tbody tr").all_inner_texts()]
    assert {client: share for client, _, share in rows} == {
        client: percent(share) for client, share in run["trim_share"].items()
    }


def test_a_run_tells_all_that_determines_it(opened, measured):
    page = opened()
    page.locator(".runs > summary").click()
    assert page.locator(".runs > summary").inner_text() == "Runs (6)"
    key = next(iter(measured["runs"]))
    page.locator(".runs summary", has_text=key).click()
    assert page.locator(".described:visible").inner_text() == measured["runs"][key]["run"]


def test_claims_are_counted_and_can_be_filtered(opened):
    page = opened()
    tile = page.get_by_role("button", name="2 holds")
    tile.click()
    assert page.locator(".claims [data-verdict]:visible").count() == 2
    assert page.locator(".claims > li:visible").count() == 1
    tile.press("Enter")
    assert page.locator(".claims [data-verdict]:visible").count() == 4
    assert page.locator(".claims > li:visible").count() == 2


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_screen(opened, width):
    page = opened(viewport={"width": width, "height": 740})
    page.locator(".runs > summary").click()
    widths = "[document.documentElement.scrollWidth, document.body.scrollWidth]"
    assert max(page.evaluate(widths)) <= width
    for chart in page.locator("svg.chart").all():
        assert chart.bounding_box()["width"] <= width


@pytest.mark.parametrize("width", [360, 1280])
def test_a_long_name_with_a_plus_is_broken_to_fit(opened, measured, width):
    long = "factions+krum_trimmed_mean_with_a_longer_name"
    page = opened(renamed(measured, "FedAvg", long), viewport={"width": width, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(f".legend button[data-line='{long}'] span").text_content() == long


def test_charts_follow_the_width_of_the_window(opened):
    page = opened()
    before = page.locator("svg.chart").first.get_attribute("viewBox")
    page.set_viewport_size({"width": 360, "height": 740})
    page.wait_for_function(
        "before => document.querySelector('svg.chart').getAttribute('viewBox') !== before", arg=before
    )
    widest = (
        "Math.max(...[...document.querySelectorAll('.tick')].map((t) => t.getBoundingClientRect().right))"
    )
    assert page.evaluate(widest) <= 360


def luminance(page, property_):
    rgb = page.evaluate(f"getComputedStyle(document.body).{property_}.match(/\\d+/g).map(Number)")
    return sum(rgb) / 3 / 255


def test_dark_mode_is_dark_and_paper_is_white(opened):
    page = opened(color_scheme="dark")
    assert luminance(page, "backgroundColor") < 0.15
    assert luminance(page, "color") > 0.85
    page.emulate_media(media="print")
    assert luminance(page, "backgroundColor") == 1
    page = opened(color_scheme="light")
    assert luminance(page, "backgroundColor") == 1
    assert luminance(page, "color") < 0.15


def test_on_paper_there_are_no_controls(opened):
    page = opened()
    page.get_by_role("button", name="FedAvg").click()
    page.emulate_media(media="print")
    for hidden in ("nav", ".choices", ".slider", ".skip", ".legend .off", ".runs"):
        assert not page.locator(hidden).first.is_visible(), hidden
    assert page.locator(".chart").first.is_visible()
    assert page.pdf().startswith(b"%PDF")


def test_nothing_moves_for_those_who_ask_for_that(opened):
    scrolling = "getComputedStyle(document.documentElement).scrollBehavior"
    assert opened(reduced_motion="reduce").evaluate(scrolling) == "auto"
    assert opened(reduced_motion="no-preference").evaluate(scrolling) == "smooth"


def test_the_first_stop_of_the_keyboard_skips_to_the_results(opened):
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_without_scripts_the_tables_are_there(opened):
    page = opened(java_script_enabled=False)
    assert page.locator("#table-0 tbody tr").count() == 4
    assert page.locator(".noscript").is_visible()


def renamed(document, old, new):
    return json.loads(json.dumps(document).replace(json.dumps(old), json.dumps(new)))


def test_text_from_a_result_file_stays_text(opened, measured):
    """Names, ids, reasons and descriptions come from files that a stranger may have written."""
    hostile = renamed(measured, "FedAvg", HOSTILE)
    hostile["experiments"][0]["title"] = hostile["experiments"][0]["note"] = HOSTILE
    hostile["experiments"][0]["studies"] = {HOSTILE: HOSTILE}

    hostile["claims"][0] |= {"text": HOSTILE, "numbers": HOSTILE, "verdict": HOSTILE}
    for run in hostile["runs"].values():
        run |= {"run": HOSTILE, "dropped": {HOSTILE: 2}, "trim_share": {HOSTILE: 0.5}, "malicious": [HOSTILE]}
    for cell in hostile["experiments"][0]["cells"]:
        cell |= {"defence": HOSTILE, "attack": HOSTILE, "task": HOSTILE, "stands_in_for": HOSTILE}
    page = opened(hostile)
    assert lines(page)[0] == HOSTILE
    page.locator(".runs > summary").click()
    page.locator(".runs td summary").first.click()
    page.locator(".shares summary").click()
    point_at(page, "attack_success", 2)
    assert page.locator(".described:visible").inner_text() == HOSTILE
    assert page.evaluate("window.harmed") is None
    assert page.locator("img, script:not(body > script)").count() == 0
    assert page.locator("script").count() == 2


def test_numbers_that_are_none_stop_nothing(opened, measured):
    broken = json.loads(json.dumps(measured))
    for place, run in enumerate(broken["runs"].values()):
        series = {"accuracy": [float("nan"), "x", None, 0.5, [1]], "attack_success": None}
        run |= {"series": series} if place % 2 else {"series": {}, "trim_share": None, "seconds_a_round": "x"}
    cell = broken["experiments"][0]["cells"][0]
    cell["measured"]["accuracy"] = {"mean": float("inf"), "std": "x", "values": 3}
    page = opened(broken)
    assert page.locator("#table-0 tbody td").first.inner_text().startswith("–")
    page.locator(".runs > summary").click()
    page.locator(".runs tbody").wait_for()  # it is filled when the browser says that it was opened
    assert page.locator(".runs tbody tr").count() == 6


def test_browser_and_tables_round_alike(opened):
    shares = [place / 4000 for place in range(4001)] + [1 / 3, 2 / 3, 0.9995, 0.00049]
    script = files("holdfast.report").joinpath("scripts", "elements.js").read_text()
    shown = opened().evaluate(f"(shares) => {{ {script}; return shares.map(percent); }}", shares)
    assert shown == [percent(share) for share in shares]


def shown_as_pages(measured):
    """Return one page of each kind: a comparison, the demo, a round over files."""
    told = Diagnostics(
        rule="median", clients=("a" * 60, "b"), norms=np.ones(2), consistency=np.array([1, 0, 3])
    )
    return {
        "comparison": results_page({**measured, "claims": []}),
        "demo": demo_of(measured),
        "round": round_page({"base": "model" * 20, "diagnostics": told.as_dict()}),
    }


@pytest.mark.parametrize("kind", ["comparison", "demo", "round"])
@pytest.mark.parametrize("width", [360, 1280])
def test_every_page_fits_the_screen_and_is_dark_where_asked(opened, measured, kind, width):
    html = shown_as_pages(measured)[kind]
    page = opened(html=html, color_scheme="dark", viewport={"width": width, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert luminance(page, "backgroundColor") < 0.15
    assert page.locator("h1").is_visible()
    assert page.locator("svg.chart").count() == {"comparison": 4, "demo": 3, "round": 0}[kind]


def test_a_phone_shows_accuracy_and_attack_success_beside_a_long_name(opened):
    document = compared_document(Invariant="factions+mine.a_rule_with_quite_a_long_name")
    page = opened(document, viewport={"width": 390, "height": 740})
    for place in range(2):
        box = page.locator("#table-0 tbody tr").nth(2).locator("td").nth(place).bounding_box()
        assert box["x"] + box["width"] <= 390
    difference = page.locator("#table-0 .last.against.clear-cut").first
    assert difference.inner_text() == "−40.0 ±0.0*"
    page.get_by_role("button", name="Mean of the last ten rounds").click()
    assert not difference.is_visible()
    assert page.locator("#table-0 .last10.against.clear-cut").first.is_visible()
