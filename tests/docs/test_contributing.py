"""The guide for a first rule: its example is a rule, and the places it names are those that a rule has."""

import doctest
import re
from pathlib import Path

import numpy as np
import pytest

from ..pages import blocks

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "CONTRIBUTING.md"
pytestmark = pytest.mark.skipif(not GUIDE.exists(), reason="no guide beside the tests")


def example():
    (block,) = blocks(GUIDE, "python")
    return block.text


def test_the_example_is_a_rule_that_returns_what_it_says():
    names = {"__name__": "shortest_mean"}
    exec(compile(example(), "shortest_mean.py", "exec"), names)
    made = names["shortest_mean"]
    found = doctest.DocTestFinder().find(made.function, "shortest_mean", globs=names)
    assert [doctest.DocTestRunner().run(one) for one in found if one.examples] == [(0, 1)]
    assert str(made(share=0.25)) == "shortest_mean(share=0.25)"
    np.testing.assert_allclose(made(np.array([[2.0], [4.0]]), share=9.0).update, [3.0])


def test_a_rule_that_is_there_stands_in_every_place_that_the_guide_names():
    _, _, told = GUIDE.read_text(encoding="utf-8").partition("## Adding a rule")
    places = re.findall(r"^\| `([\w/.]+\.\w+)` \|", told, re.M)
    assert len(places) == 10
    for place in places:
        path = ROOT / place.replace("NAME", "norm_clipping")
        assert "norm_clipping" in path.read_text(encoding="utf-8") or path.name == "CHANGELOG.md", place


def test_every_file_that_the_guide_names_is_there():
    text = re.sub(r"^ *```.*?^ *```$", "", GUIDE.read_text(encoding="utf-8"), flags=re.M | re.S)
    named = re.findall(r"`((?:docs|tests|holdfast)/[\w/.]+)`", text)
    assert len(named) > 8
    missing = [name for name in named if "NAME" not in name and not (ROOT / name).exists()]
    assert missing == []
