import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install holdfast[report])")

from holdfast.report.evidence import STUDIES, evidence, study_experiment


def test_a_study_that_is_not_stored_is_left_out_unless_it_is_to_be_made(tmp_path):
    assert study_experiment("figure5", tmp_path, scale="smoke", n_seeds=1) is None
    made = study_experiment("figure5", tmp_path, scale="smoke", n_seeds=1, made=True)
    assert [figure["name"] for figure in made.figures] == ["figure5", "mimicry"]
    again = study_experiment("figure5", tmp_path, scale="smoke", n_seeds=1)
    assert again.studies == made.studies


def test_studies_answer_their_claims(tmp_path):
    found = evidence([*STUDIES, "table8"], tmp_path, scale="smoke", n_seeds=1, made=True)
    assert [one["name"] for one in found["experiments"]] == ["table8", *STUDIES]
    told = {claim["id"]: claim for claim in found["claims"] if claim["task"] == "digits"}
    for claim in ("claim-11", "claim-12", "minima"):
        assert told[claim]["verdict"] in ("holds", "does not hold")
        assert any(character.isdigit() for character in told[claim]["numbers"])
