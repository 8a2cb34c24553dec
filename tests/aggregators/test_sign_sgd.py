import numpy as np
import pytest

from holdfast import InputError, sign_sgd


def test_every_coordinate_moves_by_one_step_or_not_at_all():
    rows = np.random.default_rng(0).normal(size=(8, 300))
    assert set(np.abs(sign_sgd(rows, step=0.5).update)) == {0.0, 0.5}


def test_a_tie_stays():
    assert sign_sgd(np.array([[1.0], [-9.0]])).update == 0


def test_a_step_is_positive():
    with pytest.raises(InputError, match="step must be"):
        sign_sgd(np.ones((2, 1)), step=0)
