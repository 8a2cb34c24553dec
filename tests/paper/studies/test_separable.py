import pytest

from holdfast.errors import InputError
from holdfast.lab.choices import build_run
from holdfast.paper.studies import separable_minima

RUN = build_run("digits", attack="edge-case", scale="smoke")


def test_a_hull_is_measured_from_all_its_models():
    found = separable_minima(RUN, n_combinations=4)
    assert len(found.left_out) == len(found.honest_success) == len(found.weights) == 5
    assert len(found.mixed_success) == 4
    assert 0 < max(found.left_out) <= found.diameter
    assert found.malicious > 0
    assert sum(found.weights) == pytest.approx(1)


def test_more_honest_models_than_clients_are_refused():
    few = RUN.replace(n_clients=5, n_per_round=2, n_rounds=1)
    with pytest.raises(InputError, match="honest clients are needed"):
        separable_minima(few, n_benign=5)
