"""The page of results holds the tables as they are stored."""

import runpy
from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


def test_the_pages_tables_are_those_of_the_results():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    assert page.count(":start -->") == 4
    assert runpy.run_path(str(DOCS / "fill.py"))["filled"](page) == page


def test_every_picture_of_the_page_is_there():
    page = (DOCS / "results.md").read_text(encoding="utf-8")
    pictures = [part.split(")")[0] for part in page.split("](")[1:] if part.split(")")[0].endswith(".png")]
    assert pictures
    assert all((DOCS / picture).is_file() for picture in pictures)
