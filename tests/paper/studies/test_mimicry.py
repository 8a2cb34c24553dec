import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.lab.choices import build_run
from holdfast.paper.studies.mimicry import histogram_of, mimic, mimicry

RUN = build_run("digits", attack="edge-case", scale="smoke")


def test_a_mimic_keeps_the_largest_entries_and_takes_the_others():
    malicious, benign = np.array([0.1, -5.0, 0.2, 4.0]), np.array([1.0, 2.0, 3.0, 4.5])
    np.testing.assert_array_equal(mimic(malicious, benign, n_kept=2), [1.0, -5.0, 3.0, 4.0])
    np.testing.assert_array_equal(mimic(malicious, benign, n_kept=0), benign)
    np.testing.assert_array_equal(mimic(malicious, benign, n_kept=4), malicious)
    np.testing.assert_array_equal(benign, [1.0, 2.0, 3.0, 4.5])


def test_more_entries_than_there_are_cannot_be_kept():
    with pytest.raises(InputError, match="n_kept"):
        mimic(np.ones(3), np.ones(3), n_kept=4)


def test_shares_above_a_threshold_are_counted():
    found = histogram_of(np.array([1.0, -0.2, 0.05, 0.005, 0.0]), n_bins=5)
    assert found.share_above == {"0.01": 0.6, "0.001": 0.8, "1/10": 0.4, "1/100": 0.6}
    assert found.share_of_half == 0.2
    assert sum(found.counts) == 5
    assert sum(found.zoom_counts) == 2


def test_keeping_all_costs_nothing_and_gains_nothing():
    found = mimicry(RUN, n_kept=(1, 13706), n_pairs=2)
    assert found.points[-1].slowdown == pytest.approx(0, abs=1e-12)
    assert found.points[-1].cosine == pytest.approx(found.cosine)
    assert found.points[0].cosine > found.cosine
    assert found.points[0] == found.at_paper_share
