"""The parts that pages of the site are made of."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import aggregators

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "docs" / "making").exists(), reason="no docs beside the tests")

TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))


@pytest.fixture
def equations():
    pytest.importorskip("latex2mathml", reason="latex2mathml is not installed: pip install '.[docs]'")
    from making import equations

    return equations


def test_every_rule_has_an_equation_and_every_equation_a_rule(equations):
    from making.attacks import NAMES

    assert sorted(equations.RULES) == sorted(aggregators.__all__)
    assert set(equations.ATTACKS) <= set(NAMES)


def test_no_command_is_left_over_in_an_equation(equations):
    for latex in (*equations.RULES.values(), *equations.ATTACKS.values()):
        assert not re.search(r"\\[a-z]", equations.drawn(latex)), latex


def cells():
    from making.stored import Cell, Cells

    success = {"fedavg": 0.9, "krum": 0.1, "median": 0.4, "factions+fedavg": 0.05}
    accuracy = {"fedavg": 0.95, "krum": 0.8, "median": 0.94, "factions+fedavg": 0.95}
    return Cells(
        Cell(task, f"edge-case+{number}", defence, accuracy[defence], success[defence], 3)
        for task in ("digits", "phishing")
        for number in range(10)
        for defence in success
    )


def test_the_best_defence_is_that_with_the_least_attack_success_among_those_that_cost_little():
    from making.choosing import candidates, recommended

    found = candidates(cells())
    assert [one.defence for one in found] == ["factions+fedavg", "krum", "median", "fedavg"]
    alone = [one for one in found if "+" not in one.defence]
    assert recommended(alone, alone[-1]).defence == "median"


def test_a_defence_that_met_fewer_attacks_than_others_is_not_compared_with_them():
    from making.choosing import candidates
    from making.stored import Cell, Cells

    few = [Cell("digits", "edge-case+1", "rfa", 0.9, 0.0, 3)]
    assert "rfa" not in [one.defence for one in candidates(Cells([*cells(), *few]))]


def test_of_two_results_in_one_place_the_first_counts():
    from making.stored import Cell, Cells

    first, second = (Cell("digits", "edge-case", "krum", accuracy, 0.1, 3) for accuracy in (0.9, 0.8))
    assert Cells([first, second]).at("digits", "edge-case", "krum") is first


def test_the_page_of_everything_has_every_cell_and_counts_them_by_task():
    from making.everything import make

    (page,) = make(cells()).values()
    assert "| [digits](#digits) | 10 | 4 | 40 |" in page
    assert page.count("| `factions+fedavg` | .950 |") == 20
    assert page.index("edge-case+1 | `factions+fedavg`") < page.index("edge-case+1 | `fedavg`")


def test_links_that_leave_docs_lead_to_pages_of_those_files(tmp_path):
    from making import sources

    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "one.py").write_text("print(1)\n")
    (tmp_path / "README.md").write_text("See [docs](docs/a.md) and [one](examples/one.py).")
    text = (
        "[one](../../examples/one.py#x), [home](../../README.md)\n\n```\n[no](../../examples/one.py)\n```\n"
    )
    said = []
    made = sources.make(tmp_path, {"sub/a.md": text}, warn=said.append)
    assert sorted(made) == ["repository/README.md", "repository/examples/one.py.md"]
    assert "print(1)" in made["repository/examples/one.py.md"]
    assert sources.rewritten(text, "sub/a.md", tmp_path) == (
        "[one](../repository/examples/one.py.md#x), [home](../repository/README.md)"
        "\n\n```\n[no](../../examples/one.py)\n```\n"
    )
    inside = sources.rewritten(made["repository/README.md"], "repository/README.md", tmp_path)
    assert inside == "See [docs](../a.md) and [one](examples/one.py.md)."
    drawn = sources.rewritten('<img src="docs/figures/a.svg">', "repository/README.md", tmp_path)
    assert drawn == '<img src="../figures/a.svg">'
    assert sources.rewritten('<img src="figures/a.svg">', "a.md", tmp_path) == '<img src="figures/a.svg">'
    assert said == []


def test_a_link_to_a_file_that_is_not_there_is_a_warning(tmp_path):
    from making import sources

    said = []
    sources.make(tmp_path, {"a.md": "[gone](../gone.py)"}, warn=said.append)
    assert said == ["a.md links to gone.py, which is not in the repository"]


@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.stem)
def test_the_page_of_a_tutorial_has_all_text_code_and_files_of_its_script(path):
    from making.tutorials import cells_of, shown

    page = path.with_suffix(".md").read_text(encoding="utf-8")
    parts = [part for cell in cells_of(path.read_text()) if (part := shown(cell, path.parent))]
    assert len(parts) > 5
    assert [part for part in parts if part not in page] == [], "make fill"
    kept = re.findall(r"[(\"]([\w.-]+\.(?:png|page\.html))[)\"]", page)
    assert all(path.with_name(name).is_file() for name in kept)


def test_cells_are_text_python_commands_files_and_pages_and_all_run_in_one_folder(tmp_path):
    from making.tutorials import run

    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "tool.py").write_text("print('made')\n")
    script = tmp_path / "how.py"
    script.write_text(
        "# %% [markdown]\n# # How\n\n# %% [file] sub/tool.py\n\n# %% [bash]\n# python tool.py > page.html\n"
        "# cat page.html\n\n# %% [page] page.html\n# What was made\n\n# %%\nfrom pathlib import Path\n"
        "print(Path('page.html').read_text())\n"
        "\n# %%\nassert True\n"
    )
    ran = run(script)
    assert ran.kept == {"how.page.html": b"made\n"}
    assert ran.page.startswith("# How\n\n`tool.py`:\n\n```python\nprint('made')\n```\n\n```bash\n")
    assert 'src="how.page.html" title="What was made"' in ran.page
    assert ran.page.count("```text\nmade\n```\n") == 2
    assert "assert" not in ran.page


def test_a_command_that_fails_stops_a_tutorial(tmp_path):
    from making.tutorials import run

    script = tmp_path / "how.py"
    script.write_text("# %% [bash]\n# false\n")
    with pytest.raises(RuntimeError, match="false"):
        run(script)


def test_the_page_of_the_demo_is_drawn_from_what_was_kept():
    pytest.importorskip("jinja2", reason="Jinja2 is not installed: pip install '.[report]'")
    from making.demo import page

    drawn = page(ROOT / "docs")
    assert "kept the backdoor out of both tasks" in drawn
    assert "factions+krum_trimmed_mean" in drawn
    assert not re.search(r'(src|href)="(https?:)?//', drawn)


RUN = """
import sys
from pathlib import Path
from making.tutorials import run, shape_of
ran = run(Path(sys.argv[1]))
written = Path(sys.argv[1]).with_suffix(".md").read_text(encoding="utf-8")
if shape_of(ran.page) != shape_of(written):
    sys.exit("make fill: it printed\\n" + ran.page)
"""


#: What a tutorial needs beside PyTorch and matplotlib.
NEEDED = {"flower": "flwr", "cluster": "ray"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.engines] if path.stem == "cluster" else [])
        for path in TUTORIALS
    ],
)
def test_a_tutorial_runs_and_prints_what_its_page_shows(path):
    """Its own checks hold; digits may be others on another machine."""
    for package in ("matplotlib", "torch", NEEDED.get(path.stem, "numpy")):
        pytest.importorskip(package, reason=f"{package} is not installed: make test")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(path)],
        cwd=ROOT / "docs",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
