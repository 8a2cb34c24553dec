import numpy as np
import pytest

from holdfast import InputError, mean_variance_mask
from holdfast.errors import TooFewClientsError


def test_a_mean_lost_in_the_spread_does_not_pass():
    rows = np.array([[1.0, 10.0], [1.1, -9.0], [0.9, 11.0], [1.0, -10.0]])
    result = mean_variance_mask(rows)
    assert result.update[0] == pytest.approx(1)
    assert result.update[1] == 0
    assert result.diagnostics.kept_fraction == 0.5


def test_no_spread_at_all_passes_unless_it_is_zero():
    assert mean_variance_mask(np.array([[2.0, 0.0], [2.0, 0.0]]), kappa=9.0).update.tolist() == [2, 0]


def test_a_mask_that_keeps_nothing_is_pointed_out():
    rows = np.random.default_rng(0).normal(size=(20, 300))
    notes = mean_variance_mask(rows, kappa=9.0, alpha=0.0).diagnostics.notes
    assert "nothing is trimmed" in notes[0]
    assert "Lower kappa" in notes[1]


def test_one_client_has_no_spread():
    with pytest.raises(TooFewClientsError, match="needs at least 2 clients; got 1"):
        mean_variance_mask(np.ones((1, 2)))
    with pytest.raises(InputError, match="kappa must be"):
        mean_variance_mask(np.ones((2, 2)), kappa=-1.0)
