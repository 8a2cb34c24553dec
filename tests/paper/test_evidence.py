import json

import pytest

from holdfast.paper import CLAIMS, judge_claims
from holdfast.paper.evidence import STUDIES, evidence
from holdfast.paper.studies import ANALYSES

pytestmark = pytest.mark.slow

SMOKE = {"scale": "smoke", "n_seeds": 1}


@pytest.fixture(scope="module")
def studied(tmp_path_factory):
    """All studies at the smallest scale: the folder they are in, and the document."""
    folder = tmp_path_factory.mktemp("results")
    return folder, evidence([*STUDIES, "table8"], folder, **SMOKE, make=True)


def test_every_study_has_its_analyses_in_the_document(studied):
    _, found = studied
    assert [one["name"] for one in found["experiments"]] == ["table8", *STUDIES]
    assert set(STUDIES) == set(ANALYSES)
    for one in found["experiments"][1:]:
        assert {name: len(seeds) for name, seeds in one["analyses"].items()} == dict.fromkeys(
            ANALYSES[one["name"]], 1
        )


def test_a_document_is_plain_data(studied):
    _, found = studied
    again = json.loads(json.dumps(found, allow_nan=False))
    assert json.dumps(again) == json.dumps(found)


def test_a_study_that_is_not_stored_is_left_out_unless_it_is_to_be_made(studied, tmp_path):
    folder, found = studied
    assert evidence(["figure5"], tmp_path, **SMOKE)["experiments"] == []
    (stored,) = evidence(["figure5"], folder, **SMOKE)["experiments"]
    (first,) = [one for one in found["experiments"] if one["name"] == "figure5"]
    assert stored["studies"] == first["studies"]
    assert json.dumps(stored["analyses"]) == json.dumps(first["analyses"])


def test_studies_answer_their_claims(studied):
    _, found = studied
    judged = judge_claims(found["experiments"])
    verdicts = {claim["id"]: claim for claim in judged if claim["task"] == "digits"}
    for claim in ("claim-11", "claim-12", "minima"):
        assert verdicts[claim]["verdict"] in ("holds", "does not hold")
        assert any(character.isdigit() for character in verdicts[claim]["numbers"])


def test_a_scale_at_which_nothing_is_learned_decides_no_claim(studied):
    _, found = studied
    assert found["scale"] == "smoke"
    assert found["claims"] == []


def test_only_claims_are_judged_that_the_named_experiments_decide(tmp_path):
    everything = {claim["id"] for claim in evidence(["all"], tmp_path)["claims"]}
    assert everything == {claim.id for claim in CLAIMS}
    for name in ("table1", "figure5"):
        own = {claim["id"] for claim in evidence([name], tmp_path)["claims"]}
        assert own == {claim.id for claim in CLAIMS if decided_by(claim) == {name}}
        assert own
    both = {claim["id"] for claim in evidence(["table1", "table4"], tmp_path)["claims"]}
    assert both >= {claim.id for claim in CLAIMS if decided_by(claim) == {"table1", "table4"}}
    network = evidence(["paper_network"], tmp_path)["claims"]
    assert {claim["task"] for claim in network} == {"cifar10-resnet18"}
    assert {"claim-1", "claim-2"} <= {claim["id"] for claim in network}


def decided_by(claim):
    """Return the experiments that a claim is about on its first task, each claim of a study by its figure."""
    studies = {"claim-11": "figure4", "claim-12": "figure5", "minima": "separable-minima"}
    return {experiment for experiment, _ in claim.cells.values()} or {studies[claim.id]}
