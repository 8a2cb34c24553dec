import pytest

from holdfast.errors import InputError
from holdfast.lab.choices import build_run
from holdfast.paper.studies.landscape import landscape

RUN = build_run("digits", attack="edge-case", scale="smoke")


@pytest.mark.slow
def test_all_slopes_of_an_exposure_start_at_its_minimum():
    found = landscape(RUN, n_points=3, n_random=1)
    assert found.distances == pytest.approx((0, 0.015, 0.03))
    for slope in found.slopes:
        assert slope.malicious[0] == slope.random[0]
        assert slope.malicious[-1] != slope.random[-1]
        assert slope.unit > 0
    assert [slope.n_edge for slope in found.slopes] == [0, 6, 12]
    assert [slope.n_honest - slope.n_edge for slope in found.slopes] == [found.slopes[0].n_honest] * 3


@pytest.mark.slow
def test_the_landscape_of_updates_ends_where_attackers_would_be():
    found = landscape(RUN, direction="update", exposures=(0.0,), reach=1.0, n_points=2, n_random=1)
    again = landscape(RUN, direction="update", exposures=(0.0,), reach=1.0, n_points=2, n_random=1)
    assert found == again
    assert found.slopes[0].attack_success[-1] > found.slopes[0].attack_success[0]


@pytest.mark.parametrize("settings", [{"reach": 0.0}, {"direction": "sideways"}, {"n_points": 1}])
def test_settings_that_make_no_landscape_are_refused(settings):
    with pytest.raises(InputError):
        landscape(RUN, **settings)


def test_a_run_without_a_backdoor_is_refused():
    with pytest.raises(InputError, match="needs an attack with a backdoor"):
        landscape(build_run("digits", scale="smoke"))
