"""The README: its example prints what it says, its table is that of the results, its links lead somewhere."""

import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import aggregators

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
pytestmark = pytest.mark.skipif(not README.exists(), reason="no README beside the tests")


def example():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    return code


def test_the_example_prints_what_the_readme_says(capsys):
    assert len(example().strip().splitlines()) <= 12
    exec(example(), {})
    (printed,) = re.findall(r"```text\n(.*?)```", README.read_text(), re.S)
    assert capsys.readouterr().out == printed


def test_the_example_needs_numpy_and_numba_alone():
    extras = ("typer", "rich", "torch", "matplotlib", "jinja2", "flwr", "ray", "platformdirs", "scipy", "jax")
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({extras}))\n"
    done = subprocess.run(
        [sys.executable, "-c", blocked + example()], capture_output=True, text=True, check=True
    )
    assert "9 clients aggregated" in done.stdout


def test_the_first_screen_has_install_and_demo_and_terms_are_explained_where_they_first_appear():
    text = README.read_text()
    assert len(text.splitlines()) < 160
    assert text.index("holdfast demo") < text.index("```python")
    for term, told in {
        "attack success rate": "is the share of inputs",
        "edge case": "rare but real inputs",
        "alpha": "is the\nshare of the values",
        "`tau`": "how strongly clients must agree",
    }.items():
        assert 0 < text.index(told) - text.lower().index(term) < 260, term


def test_every_link_leads_to_a_file_or_a_heading():
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", README.read_text()):
        where = next(filter(None, target))
        if not where.startswith("https://"):
            assert (ROOT / where.partition("#")[0]).exists(), where


@pytest.mark.slow
def test_the_table_is_that_of_the_stored_results():
    front = runpy.run_path(str(ROOT / "docs" / "front.py"))
    if not (ROOT / "results").is_dir():
        pytest.skip("no results beside the tests")
    found = front["evidence"](["watch", "hiding", "full_information"], ROOT / "results")
    text = README.read_text(encoding="utf-8")
    assert front["filled"](text, found) == text, "make docs"


def test_the_rules_page_lists_every_rule_with_the_paper_of_its_docstring():
    rows = re.findall(
        r"^\| `(\w+)` \|.*\((https://[^)]+)\) \|$", (ROOT / "docs" / "rules.md").read_text(), re.M
    )
    papers = {name: paper for name, paper in rows if name in aggregators.__all__}
    assert sorted(papers) == sorted(aggregators.__all__)
    for rule, paper in papers.items():
        assert paper in inspect.getdoc(getattr(aggregators, rule))
