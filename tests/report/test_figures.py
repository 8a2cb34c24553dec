import re
import subprocess
import sys

import pytest

pytest.importorskip("matplotlib")

from holdfast.errors import InputError
from holdfast.report.figures import DRAWN, draw_curves, draw_figures, figures_of
from holdfast.report.plotting import KINDS, file_content, new_figure, save

from .documents import cell, experiment, run, small_document


def sensitive(**changes):
    """Return an experiment over the values of a setting, two of them measured."""
    cells = [cell(f"τ = {x}", {str(x): run("FedAvg", 0)}, x=x) for x in (0.2, 0.6)]
    return experiment(cells, name="figure6a", axis="τ", **changes)


def test_every_analysis_of_a_study_is_drawn():
    from holdfast.paper.studies import ANALYSES

    assert set(DRAWN) == {own for analyses in ANALYSES.values() for own in analyses}


def test_curves_are_one_file_per_measured_column(tmp_path):
    document = small_document()
    other = cell("Median", {}, column="digits / 50")
    document["experiments"][0] |= {"columns": ["phishing", "digits / 50"]}
    document["experiments"][0]["cells"].append(other)
    assert draw_curves(document, tmp_path) == [tmp_path / "small-phishing.png"]
    other |= {"measured": {"accuracy": None}, "keys": ["fed0"]}
    assert [path.name for path in draw_curves(document, tmp_path)][1] == "small-digits---50.png"


def test_what_was_not_measured_is_not_drawn(tmp_path):
    empty = sensitive()
    for one in empty["cells"]:
        one |= {"measured": None, "keys": []}
    document = {"scale": "cpu", "experiments": [empty], "runs": {}}
    assert draw_figures(document, tmp_path / "new") == draw_curves(document, tmp_path / "new") == []
    assert not (tmp_path / "new").exists()


def test_runs_that_are_not_finished_are_not_drawn(tmp_path):
    document = small_document()
    document["runs"]["fed1"] |= {"finished": False, "series": {"accuracy": [0.1], "attack_success": [0.1]}}
    (path,) = draw_curves(document, tmp_path)  # lines of different lengths could not be averaged
    assert path.exists()


def test_a_figure_says_where_its_numbers_come_from():
    ((name, (_, caption)),) = figures_of(sensitive(), scale="smoke").items()
    assert name == "figure6a"
    assert caption.endswith("at scale smoke.")


DRAW = """
import sys
from pathlib import Path
from tests.report.documents import small_document
from tests.report.test_figures import sensitive
from holdfast.report.figures import draw_curves, draw_figures

document = small_document()
document["experiments"].append(sensitive())
for draw in (draw_curves, draw_figures):
    draw(document, Path(sys.argv[1]), kind=sys.argv[2])
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_files_of_two_processes_are_the_same_to_the_byte(tmp_path, kind, monkeypatch):
    for name, hash_seed, time in (("a", "1", "1000000000"), ("b", "2", "1600000000")):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", time)  # what matplotlib takes for now
        subprocess.run([sys.executable, "-c", DRAW, str(tmp_path / name), kind], check=True)
    first, second = (sorted((tmp_path / name).iterdir()) for name in ("a", "b"))
    assert [path.name for path in first] == [
        f"figure6a-phishing.{kind}",
        f"figure6a.{kind}",
        f"small-phishing.{kind}",
    ]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_a_file_has_neither_a_date_nor_a_version(kind):
    content = file_content(new_figure(1, 1), kind)
    assert not re.search(rb"dc:date|CreationDate|Matplotlib v|matplotlib \d", content)


def test_another_kind_of_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="a figure must be one of png, svg, pdf; got 'gif'"):
        save(new_figure(1, 1), tmp_path / "figure.gif")


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(
        InputError, match=r"matplotlib is not installed; in a checkout: pip install '\.\[report\]'"
    ):
        new_figure(1, 1)
