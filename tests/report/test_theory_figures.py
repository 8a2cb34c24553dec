import numpy as np
import pytest

pytest.importorskip("matplotlib")

from holdfast.report.advice_figure import FLAWS, _flaws, draw_region
from holdfast.report.theory_figures import draw_theory, fltrust_curve
from holdfast.theory import advise


@pytest.mark.slow
def test_all_figures_are_written_and_small_and_the_same_each_time(tmp_path):
    first = [path.read_bytes() for path in draw_theory(tmp_path / "a")]
    second = [path.read_bytes() for path in draw_theory(tmp_path / "b")]
    assert first == second
    assert all(10_000 < len(picture) < 150_000 for picture in first)


def test_the_curve_is_the_closed_form_with_the_search_on_it():
    line, dots = (drawn.get_xydata() for drawn in fltrust_curve().axes[0].lines[1:3])
    np.testing.assert_allclose(dots[:, 1], np.interp(dots[:, 0], *line.T), atol=1e-4)


@pytest.mark.parametrize("per_round", [15, 20, 25])
def test_the_map_colours_the_region_of_the_advice(per_round):
    advice = advise(n_clients=100, n_malicious=10, n_per_round=per_round)
    safe = np.argwhere(_flaws(advice) == list(FLAWS).index("every risk as low as asked"))
    assert {(k, m) for m, k in safe.tolist()} == set(advice.region)


def test_the_map_is_a_file_where_asked_for(tmp_path):
    path = draw_region(advise(n_clients=30, n_malicious=5), tmp_path / "region.svg")
    assert path.read_bytes().startswith(b"<?xml")
