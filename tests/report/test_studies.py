import json
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.paper.studies import ANALYSES, study_runs
from holdfast.report.studies import STUDIES, make


def test_every_study_can_be_made():
    assert set(STUDIES) == set(ANALYSES)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_gives_its_figures_and_numbers(name, tmp_path):
    part = make(name, tmp_path, scale="smoke", seeds=[0, 1])
    assert json.loads(json.dumps(part, allow_nan=False)) == part
    assert part["studies"]["seeds"] == [0, 1]
    for figure in part["figures"]:
        assert figure["caption"]
        assert Path(figure["files"]["png"]).read_bytes().startswith(b"\x89PNG")
        assert "<svg" in Path(figure["files"]["svg"]).read_text()
    stored = {path.stem for path in tmp_path.glob("*.npz")}
    assert stored == {run.key for run in study_runs(name, scale="smoke", seeds=[0, 1])}


def test_an_unknown_study_is_answered_with_the_nearest(tmp_path):
    with pytest.raises(InputError, match="did you mean 'figure4'"):
        make("figure44", tmp_path)


def test_a_study_needs_a_seed(tmp_path):
    with pytest.raises(InputError, match="at least one seed"):
        make("figure5", tmp_path, seeds=[])
