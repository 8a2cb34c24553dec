import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import holdfast
from holdfast.report.page import SCRIPTS, embedded, page_of, write_page

from .conftest import HOSTILE

EMPTY = {"version": "0.1.0", "scale": "cpu", "claims": [], "experiments": [], "runs": {}}


def test_a_page_of_nothing_says_so():
    text = page_of(EMPTY)
    assert "No claims are part of this document." in text
    assert "Nothing was measured yet." in text


def test_the_page_names_no_address(measured):
    found = re.findall(r"(?:https?:)?//[\w.-]+\.\w+", page_of(measured))
    assert set(found) <= {"http://www.w3.org"}


@pytest.mark.parametrize("text", [HOSTILE, "<!--<script>", "]]>", "\u2028", "&lt;", "\\u003c/script>"])
def test_embedded_text_comes_back_as_it_was_and_cannot_end_its_element(text):
    carried = embedded({text: [text]})
    assert not set("<>&") & set(carried)
    assert json.loads(carried) == {text: [text]}


def test_numbers_that_json_does_not_know_are_nothing():
    assert json.loads(embedded({"a": [float("inf"), 1.5], "b": float("nan")})) == {
        "a": [None, 1.5],
        "b": None,
    }


def test_the_same_document_gives_the_same_page(measured):
    assert page_of(measured) == page_of(json.loads(json.dumps(measured)))


def test_the_page_is_written_where_it_was_asked_for(tmp_path):
    path = write_page(EMPTY, tmp_path / "new" / "page.html")
    assert path.read_text(encoding="utf-8") == page_of(EMPTY)
    assert [file.name for file in path.parent.iterdir()] == ["page.html"]


def test_no_script_parses_text_as_html():
    folder = Path(holdfast.__file__).parent / "report" / "page"
    assert {path.name for path in folder.glob("*.js")} == set(SCRIPTS)
    for script in SCRIPTS:
        found = re.search(
            r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", (folder / script).read_text()
        )
        assert found is None, script


def test_the_wheel_carries_what_the_page_is_made_of(tmp_path):
    root = Path(holdfast.__file__).parents[1]
    if not (root / "pyproject.toml").exists():
        pytest.skip("holdfast is not run from its source")
    pytest.importorskip("hatchling", reason="hatchling is not installed")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in (*SCRIPTS, "page.html", "style.css"):
        assert f"holdfast/report/page/{name}" in names
