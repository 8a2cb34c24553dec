import json

import pytest

from holdfast.core import bind
from holdfast.errors import DataError
from holdfast.lab.choices import build_run
from holdfast.paper.studies import gradient_histogram, load_or_make_study, load_study, study_path

RUN = build_run("digits", attack="edge-case", scale="smoke")
STUDY = bind(gradient_histogram, "study", n_bins=5)


def test_a_study_is_read_back_as_it_was(tmp_path):
    found = load_or_make_study(STUDY, RUN, tmp_path)
    assert load_study(STUDY, RUN, tmp_path) == found
    assert not list(tmp_path.glob("*.partial"))


def test_a_study_is_named_by_its_settings_and_its_run(tmp_path):
    paths = {
        study_path(study, run, tmp_path)
        for study in (STUDY, bind(gradient_histogram, "study", n_bins=7))
        for run in (RUN, RUN.replace(seed=1))
    }
    assert len(paths) == 4


@pytest.mark.parametrize("damage", [{"version": "0"}, {"data": "other"}, {"found": {"counts": []}}])
def test_a_study_of_something_else_is_made_anew(tmp_path, damage, caplog):
    found = load_or_make_study(STUDY, RUN, tmp_path)
    path = study_path(STUDY, RUN, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **damage}))
    with pytest.raises(DataError):
        load_study(STUDY, RUN, tmp_path)
    assert load_or_make_study(STUDY, RUN, tmp_path) == found
    assert "made anew" in caplog.text
    assert load_study(STUDY, RUN, tmp_path) == found
