"""What must hold of every page, on a phone and on a desk, by day and by night."""

import re
from itertools import pairwise

import pytest

from holdfast import Diagnostics
from holdfast.report.maps import map_of_clients
from holdfast.report.pages import results_page, round_page

from .documents import cell, compared_document, experiment, rounds_of_verdicts, run, watched_document
from .test_pages import concluded, demo_of

pytestmark = pytest.mark.browser

KINDS = ("comparison", "demo", "report", "round", "map")
SIZES = {"phone": (390, 844), "desk": (1280, 900)}


def many_rows():
    """Return a comparison of nine defences."""
    document = compared_document()
    names = [f"factions+a_rather_long_name_{place}" for place in range(9)]
    runs = {name: {f"{name}-{seed}": run("Invariant", seed) for seed in range(2)} for name in names}
    cells = [cell(name, own, printed=None, seeds=[0, 1]) for name, own in runs.items()]
    document["experiments"] = [experiment(cells)]
    document["runs"] = {key: one for own in runs.values() for key, one in own.items()}
    return {**document, "conclusion": concluded()}


def page_of(kind):
    """Return the HTML of a page of this kind, with a banner where it has a verdict."""
    document = watched_document()
    figure = experiment(
        [cell(f"τ = {x}", {str(x): run("FedAvg", 0)}, x=x) for x in (0.2, 0.6)],
        name="figure6a", title="Figure 6a: τ", kind="figure", axis="τ",
    )  # fmt: skip
    round_ = {
        "base": "model" * 20,
        "conclusion": concluded(word="no verdict", headline="A round cannot tell"),
        "diagnostics": Diagnostics(rule="median", clients=("a_client_with_a_long_name" * 2,)).as_dict(),
        "verdicts": rounds_of_verdicts()[-1].as_dict(),
    }
    made = {
        "comparison": lambda: results_page(many_rows()),
        "demo": lambda: demo_of(
            document, code="defend(models, median, base=model, clients=ids, state=state)"
        ),
        "report": lambda: results_page(
            {**document, "experiments": [*document["experiments"], figure], "conclusion": concluded()}
        ),
        "round": lambda: round_page(round_),
        "map": lambda: map_of_clients(rounds_of_verdicts()),
    }
    return made[kind]()


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_no_page_scrolls_sideways(opened, kind, size, scheme):
    width, height = SIZES[size]
    page = opened(
        html=page_of(kind), viewport={"width": width, "height": height}, color_scheme=scheme, is_mobile=False
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    beyond = page.evaluate(
        """width => [...document.querySelectorAll("body *")].filter((one) => {
          const box = one.getBoundingClientRect();
          return box.width && box.right > width + 1 && !one.closest(".scrolled, .skip, nav ul, svg");
        }).map((one) => one.outerHTML.slice(0, 80))""",
        width,
    )
    assert beyond == []


@pytest.mark.parametrize("size", SIZES)
def test_the_verdict_is_on_the_first_screen_of_every_page_that_has_one(opened, kind, size):
    if kind == "map":
        pytest.skip("a map has no verdict on a backdoor")
    width, height = SIZES[size]
    page = opened(html=page_of(kind), viewport={"width": width, "height": height})
    title = page.locator(".banner h2")
    assert title.count() == 1
    assert title.bounding_box()["y"] < height
    command = page.locator(".banner .typed").first
    assert command.inner_text().startswith("holdfast ")
    first = page.locator("main section").first
    assert "banner" in first.get_attribute("class")


def test_the_demo_shows_its_verdicts_on_a_phone(opened):
    page = opened(html=page_of("demo"), viewport={"width": 390, "height": 844})
    for verdict in page.locator("table.demo td[data-verdict]").all():
        box = verdict.bounding_box()
        assert verdict.is_visible()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390


def brightness(colour):
    red, green, blue = (int(part) for part in re.findall(r"\d+", colour)[:3])
    return (0.3 * red + 0.6 * green + 0.1 * blue) / 255


def colours(page, selector, name):
    return page.evaluate(
        """([selector, name]) => [...document.querySelectorAll(selector)]
          .map((one) => getComputedStyle(one)[name])""",
        [selector, name],
    )


def test_charts_are_drawn_for_the_night(opened, kind):
    by_day = opened(html=page_of(kind), color_scheme="light")
    by_night = opened(html=page_of(kind), color_scheme="dark")
    for page, is_dark in ((by_day, False), (by_night, True)):
        (ground,) = colours(page, "body", "backgroundColor")
        assert (brightness(ground) < 0.2) == is_dark
        for selector, name in (
            ("svg text.tick", "fill"),
            ("svg text.label", "fill"),
            (".line .stroke", "stroke"),
        ):
            for colour in colours(page, selector, name):
                assert abs(brightness(colour) - brightness(ground)) > 0.25, (selector, colour)
        for shown in colours(page, "figure img", "filter"):
            assert (shown != "none") == is_dark  # a picture with a white ground is turned over
    for one in (".line .stroke", ".client > path"):
        name = "stroke" if one.endswith(".stroke") else "fill"
        assert not colours(by_day, one, name) or colours(by_day, one, name) != colours(by_night, one, name)


def test_a_screen_reader_finds_names_and_headings_in_order(opened, kind):
    page = opened(html=page_of(kind))
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("img, svg, button, input, select, [role=region]")]
        .filter((one) => {
          if (one.closest("[aria-hidden=true]") || one.closest("[hidden]")) return false;
          const said = one.getAttribute("aria-label") || one.getAttribute("alt");
          const label = said || one.title || one.textContent;
          const titled = one.querySelector && one.querySelector("title");
          return !(label || titled || (one.labels && one.labels.length));
        }).map((one) => one.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    levels = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3, h4')].map((one) => Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title().startswith("holdfast: ")
    assert page.locator("table").count() == page.locator("table:has(caption)").count()
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((one) => one.id)")
    assert len(ids) == len({*ids})


def test_a_chart_shows_at_most_six_lines_each_named_at_its_end(opened):
    page = opened(html=page_of("comparison"), viewport={"width": 1280, "height": 900})

    def drawn():
        return [one.get_attribute("data-row") for one in page.locator("[data-metric=accuracy] .line").all()]

    def named():
        return {one.get_attribute("data-row") for one in page.locator("[data-metric=accuracy] .named").all()}

    assert len(drawn()) == 6
    assert named() == {*drawn()}
    hidden = page.locator(".legend tr.off button").first
    name = hidden.get_attribute("data-line")
    hidden.click()
    assert len(drawn()) == 6
    assert name in drawn()
    assert named() == {*drawn()}
    boxes = [one.bounding_box() for one in page.locator("[data-metric=accuracy] .named text").all()]
    tops = sorted(box["y"] for box in boxes)
    assert all(below - above >= 12 for above, below in pairwise(tops))
    frame = page.locator("[data-metric=accuracy] svg.chart").bounding_box()
    assert all(box["x"] + box["width"] <= frame["x"] + frame["width"] + 1 for box in boxes)


def test_the_report_begins_with_the_heat_map_and_suspects_and_ends_with_the_reproduction(opened):
    page = opened(html=page_of("report"))
    titles = [title.inner_text() for title in page.locator("main h2").all()]
    assert titles[1:3] == ["Defence by attack", "Who looks guilty"]
    assert titles[-1] == "Appendix: Reproduction of Wang et al."
