"""The site builds without a warning, its links lead somewhere, and nothing in it comes from elsewhere."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from holdfast import aggregators
from holdfast.lab.catalogue import list_choices

from .html import Page, is_elsewhere, target_of

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("site"),  # which is built once
    pytest.mark.skipif(not (ROOT / "mkdocs.yml").exists(), reason="no docs beside the tests"),
]

#: What newcomers ask, and what must be written where a link beside the question leads to, or one beyond it.
QUESTIONS = {
    "Which rule is for me?": r"Best on average: \w+",
    "What is tau?": r"How much the clients must agree on the direction of a coordinate",
    "Who attacked?": r"expelled since round \d+, votes with faction",
    "What do I do now?": r"Ask what the members of the faction have in common",
    "How do I use my own data?": r"A function that returns a Dataset",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as `make docs` does; return its folder."""
    for package in ("mkdocs", "material", "mkdocstrings_handlers.python", "latex2mathml"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


@cache
def read(path):
    return Page(path)


def pages(site):
    """Return the pages of the site; those in frames are pages of holdfast's own, with their own tests."""
    framed = {"404.html", "demo.html"}
    found = (path for path in sorted(site.rglob("*.html")) if path.name not in framed)
    return [read(path) for path in found if not path.name.endswith(".page.html")]


def test_every_link_leads_to_a_page_and_a_place_that_are_there(site):
    broken = []
    n_links = 0
    for page in pages(site):
        for link in page.links:
            if not is_elsewhere(link):
                n_links += 1
                path, anchor = target_of(page.path, link)
                if not path.is_file() or (
                    anchor and path.suffix == ".html" and anchor not in read(path).places
                ):
                    broken.append(f"{page.path.relative_to(site)}: {link}")
    assert n_links > 5_000
    assert broken == []


def test_no_page_fetches_anything_from_elsewhere_and_all_it_fetches_is_there(site):
    for page in pages(site):
        assert [one for one in page.fetched if one.startswith(("http:", "https:", "//"))] == []
        missing = [
            one
            for one in page.fetched
            if not is_elsewhere(one) and not target_of(page.path, one)[0].is_file()
        ]
        assert missing == []
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert not re.search(r"url\(['\"]?(https?:)?//", styles)


def test_the_demo_and_a_live_view_stand_on_their_pages(site):
    for page, framed in (("index.html", "demo.html"), ("tutorials/flower.html", "flower.page.html")):
        assert framed in read(site / page).fetched
        text = (site / page).with_name(framed).read_text(encoding="utf-8")
        assert "<script" in text
        assert not re.search(r'(src|href)="(https?:)?//', text)


def test_every_page_is_linked_from_the_navigation_of_the_home_page(site):
    home = read(site / "index.html")
    linked = {target_of(home.path, link)[0] for link in home.links if not is_elsewhere(link)}
    assert [str(page.path.relative_to(site)) for page in pages(site) if page.path not in linked] == []


def test_every_rule_and_every_attack_has_a_page_with_numbers_settings_and_an_equation_for_rules(site):
    for name in aggregators.__all__:
        page = read(site / "rule" / f"{name}.html")
        assert {"when-it-helps-and-when-it-fails", "settings", "use-it"} <= page.places.keys()
        assert "pairs of task and attack" in page.text()
        assert "<math" in page.path.read_text()
    for name in {entry.name for entry in list_choices("attacks")} - {"none"}:
        assert "who-keeps-it-out" in read(site / "attack" / f"{name}.html").places


def test_every_public_name_is_in_the_reference(site):
    from making.reference import PACKAGES, address_of, names_of

    for package in PACKAGES:
        page = read(site / "reference" / f"{address_of(package)}.html")
        assert [name for name in names_of(package) if f"{package}.{name}" not in page.places] == []


@pytest.mark.parametrize("question", QUESTIONS)
def test_what_newcomers_ask_is_answered_within_two_clicks_from_home(site, question):
    home = read(site / "index.html")
    words = question.split()
    (start,) = [place for place in range(len(home.words)) if home.words[place : place + len(words)] == words]
    beside = [link for link, place in home.own_links if start < place < start + 25 and not is_elsewhere(link)]
    assert beside
    first = [target_of(home.path, link) for link in beside[:2]]
    second = [
        target_of(path, link)
        for path, anchor in first
        for link, place in read(path).own_links
        if not is_elsewhere(link) and place >= (read(path).places[anchor] if anchor else 0)
    ]
    found = (
        read(path).text(anchor, 400 if anchor else None)
        for path, anchor in first + second
        if path.suffix == ".html"
    )
    assert any(re.search(QUESTIONS[question], text) for text in found)


@pytest.mark.browser
def test_pages_from_disk_are_searched_and_fit_a_phone_in_both_schemes(site, chromium):
    for scheme in ("light", "dark"):
        context = chromium.new_context(
            viewport={"width": 390, "height": 844}, color_scheme=scheme, offline=True
        )
        page = context.new_page()
        for name in (
            "index",
            "choose",
            "rule/krum",
            "attack/edge-case",
            "reference/holdfast",
            "results",
            "results/claims",
            "tutorials/flower",
            "tutorials/verdict",
        ):
            page.goto((site / f"{name}.html").as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (background == "rgb(255, 255, 255)") == (scheme == "light")
        context.close()
    page = chromium.new_context(viewport={"width": 1280, "height": 900}, offline=True).new_page()
    page.goto((site / "index.html").as_uri())
    assert "who keeps it out" in page.frame_locator("iframe.shown").locator("h1").inner_text(timeout=60_000)
    page.click(".md-search__input")
    page.keyboard.type("rewind")
    page.wait_for_selector(".md-search-result__item", timeout=60_000)
    assert "Glossary" in page.inner_text(".md-search-result__list")
