import base64
import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import holdfast
from holdfast.errors import InputError
from holdfast.report import check_installed
from holdfast.report.kit import SCRIPTS, counted, level, percent, render
from holdfast.report.monitor.pages import SCRIPTS as MONITOR_SCRIPTS

from .conftest import HOSTILE

REPORT = Path(holdfast.__file__).parent / "report"


def carried(page):
    """Return the JSON that a page carries, as text."""
    return re.search(r'id="document">(.*?)</script>', page, re.S)[1]


@pytest.mark.parametrize("text", [HOSTILE, "<!--<script>", "]]>", "\u2028", "&lt;", "\\u003c/script>"])
def test_carried_text_comes_back_as_it_was_and_cannot_end_its_element(text):
    page = render("base.html", data={text: [text]})
    assert not set("<>&") & set(carried(page))
    assert json.loads(carried(page)) == {text: [text]}


def test_numbers_that_json_does_not_know_are_nothing():
    page = render("base.html", data={"a": [float("inf"), 1.5], "b": float("nan")})
    assert json.loads(carried(page)) == {"a": [None, 1.5], "b": None}


def test_the_policy_allows_the_style_and_script_of_the_page_alone():
    page = render("base.html", data={})
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#39;", "'")
    for element in ("style", "script"):
        content = re.findall(rf"<{element}>(.*?)</{element}>", page, re.S)[-1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; img-src data:;")


def test_a_page_without_data_has_no_scripts_and_allows_none():
    page = render("base.html")
    assert "<script" not in page
    assert "script-src &#39;none&#39;" in page


def test_a_template_that_uses_a_name_it_was_not_given_fails():
    import jinja2

    with pytest.raises(jinja2.UndefinedError, match="'conclusion' is undefined"):
        render("demo.html", data={})


def test_every_template_escapes_and_only_the_kits_own_style_and_script_are_trusted():
    found = [
        (path.name, line.strip())
        for path in sorted((REPORT / "templates").glob("*.html"))
        for line in path.read_text().splitlines()
        if "| safe" in line or "autoescape" in line
    ]
    assert found == [
        ("base.html", "<style>{{ style | safe }}</style>"),
        ("base.html", "<script>{{ script | safe }}</script>"),
    ]


def test_no_script_parses_text_as_html():
    scripts = {path.relative_to(REPORT / "scripts"): path for path in (REPORT / "scripts").rglob("*.js")}
    assert {name.with_suffix("").as_posix() for name in scripts} == {*SCRIPTS, *MONITOR_SCRIPTS}
    for script in scripts.values():
        found = re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", script.read_text())
        assert found is None, script


def test_without_jinja_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(
        InputError, match=r"jinja2 is not installed; in a checkout: pip install '\.\[report\]'"
    ):
        render("base.html")
    monkeypatch.setitem(sys.modules, "torch", None)
    both = r"jinja2 and torch are not installed; in a checkout: pip install '\.\[report,sim\]'"
    with pytest.raises(InputError, match=both):
        check_installed("jinja2", "torch")


@pytest.mark.parametrize("odd", [None, "0.5", float("nan"), float("inf"), True, [1], {}])
def test_what_is_no_number_is_a_dash(odd):
    assert (percent(odd), level(odd)) == ("–", None)


def test_shares_are_percents_and_depths_of_a_colour():
    assert percent(0.9876) == "98.8"
    assert [level(share) for share in (0.96, 7.0, -1)] == [10, 10, 0]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [([], "no runs"), ([0], "no runs"), ([1], "1 run"), ([3, 3], "3 runs"), ([1, 3], "1 to 3 runs")],
)
def test_numbers_are_counted_in_words(numbers, said):
    assert counted(numbers, "run") == said


def test_the_wheel_carries_what_pages_are_made_of(tmp_path):
    root = REPORT.parents[1]
    if not (root / "pyproject.toml").exists():
        pytest.skip("holdfast is not run from its source")
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("holdfast/report/")}
    wanted = [*(REPORT / "templates").iterdir(), *(REPORT / "scripts").rglob("*.js")]
    assert {f"holdfast/report/{path.relative_to(REPORT).as_posix()}" for path in wanted} <= names
