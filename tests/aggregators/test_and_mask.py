import numpy as np

from holdfast import and_mask


def test_strict_needs_one_vote_more():
    rows = np.array([[1.0], [1.0], [1.0], [1.0], [-1.0]])
    assert and_mask(rows, tau=0.6).update == 0.6
    assert and_mask(rows, tau=0.6, strict=True).update == 0


def test_a_zero_votes_for_nobody_but_counts():
    rows = np.array([[1.0], [1.0], [1.0], [0.0], [0.0]])
    assert and_mask(rows, tau=0.6).update != 0
    assert and_mask(rows, tau=0.7).update == 0
