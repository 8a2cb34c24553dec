import json

import pytest

from holdfast._support.keys import key_of
from holdfast.core import bind
from holdfast.errors import DataError
from holdfast.lab.choices import build_run
from holdfast.paper.studies import gradient_histogram, load_or_make_study, load_study
from holdfast.paper.studies.store import list_studies, pack_studies, studies_folder, study_description
from holdfast.runs.results import list_results

RUN = build_run("digits", attack="edge-case", scale="smoke")
STUDY = bind(gradient_histogram, "study", n_bins=5)


def test_a_study_is_read_back_as_it_was_loose_or_packed(tmp_path):
    found = load_or_make_study(STUDY, RUN, tmp_path)
    assert load_study(STUDY, RUN, tmp_path) == found
    before = list_studies(studies_folder(tmp_path))
    assert pack_studies(studies_folder(tmp_path)) == [before[0][0]["key"]]
    assert list_studies(studies_folder(tmp_path)) == before
    assert [path.name for path in studies_folder(tmp_path).iterdir()] == ["digits.jsonl"]
    assert load_study(STUDY, RUN, tmp_path) == found


def test_the_clean_run_behind_a_study_is_in_the_store_of_runs(tmp_path):
    load_or_make_study(STUDY, RUN, tmp_path)
    (result,), unusable = list_results(tmp_path / "runs")
    assert (result.task, result.finished, unusable) == ("digits", True, {})


def test_a_study_is_known_by_its_settings_and_its_run():
    keys = {
        key_of(study_description(study, run))
        for study in (STUDY, bind(gradient_histogram, "study", n_bins=7))
        for run in (RUN, RUN.replace(seed=1))
    }
    assert len(keys) == 4


@pytest.mark.parametrize("damage", [{"code": 0}, {"data": "other"}, {"found": {"counts": []}}])
def test_a_study_of_something_else_is_not_used_and_the_reason_said(tmp_path, damage, caplog):
    found = load_or_make_study(STUDY, RUN, tmp_path)
    (path,) = studies_folder(tmp_path).glob("*.json")
    path.write_text(json.dumps({**json.loads(path.read_bytes()), **damage}))
    with pytest.raises(DataError, match="cannot be used: it"):
        load_study(STUDY, RUN, tmp_path)
    assert load_or_make_study(STUDY, RUN, tmp_path) == found
    assert "cannot be used: it" in caplog.text
    assert load_study(STUDY, RUN, tmp_path) == found


def test_what_is_no_study_is_listed_with_the_reason(tmp_path):
    load_or_make_study(STUDY, RUN, tmp_path)
    (run,) = (tmp_path / "runs").glob("*.json")
    run.rename(studies_folder(tmp_path) / run.name)
    found, unusable = list_studies(studies_folder(tmp_path))
    assert len(found) == 1
    assert list(unusable.values()) == ["it is not a study"]
