"""Sentences that readers stumbled over do not come back: in help, messages, pages and docstrings."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout around the tests")

WORST = re.compile(
    r"defence of which clients do their part"
    r"|are got once|found by the loaders from then on"
    r"|\bOf all random numbers\."
    r"|\bShow it\."
    r"|[Ww]hat breaks off goes on"
    r"|is said to be\b"
    r"|answered rightly"
    r"|\b\d+ holds, \d+ does not hold"
    r"|(?<![+−-] )(?<![\d.])1 (?:rounds|clients|nodes|runs|seeds|files|lines|times)\b"
    r"|a JSON file a run"
)


def texts():
    """Yield every text of the checkout that a reader may meet."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    kept = ("holdfast/", "docs/", "examples/", "README", "CHANGELOG", "CONTRIBUTING", "SECURITY")
    for name in listed.split():
        if name.startswith(kept) and Path(name).suffix in (".md", ".py", ".html", ".js", ".toml", ".ipynb"):
            yield name, (ROOT / name).read_text(encoding="utf-8")


def test_no_text_has_one_of_the_worst_sentences():
    found = {name: WORST.findall(" ".join(text.split())) for name, text in texts()}
    assert len(found) > 300
    assert not {name: words for name, words in found.items() if words}


@pytest.mark.parametrize(
    "text",
    ["what is missing is said to be", "after 1 rounds", "17 holds, 28 does not hold", "a JSON file a run"],
)
def test_a_text_that_had_one_would_be_found(text):
    assert WORST.search(text)


@pytest.mark.parametrize(
    "text", ["after 11 rounds", "4f + 1 clients", "0.1 seeds", "1 round", "rounds 0 and 1, seeds 3"]
)
def test_other_texts_are_left_alone(text):
    assert not WORST.search(text)
