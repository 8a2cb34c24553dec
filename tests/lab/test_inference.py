import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.inference import confident, most_likely

SCORES = np.array([[2.0, 0.0, 0.0], [0.1, 0.2, 0.0], [-1e30, 3.0, 1e30]])


def test_the_highest_score_wins_and_the_first_of_equals():
    np.testing.assert_array_equal(most_likely(np.vstack([SCORES, [1.0, 1.0, 0.0]])), [0, 1, 2, 0])


def test_below_the_threshold_the_model_declines():
    top = np.exp(SCORES[:2]).max(axis=1) / np.exp(SCORES[:2]).sum(axis=1)
    np.testing.assert_array_equal(confident(SCORES, threshold=float(top[1]) + 1e-9), [0, -1, 2])
    np.testing.assert_array_equal(confident(SCORES, threshold=float(top[1]) - 1e-9), [0, 1, 2])
    np.testing.assert_array_equal(confident(SCORES, threshold=0.0), most_likely(SCORES))


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_a_threshold_outside_its_range_is_refused(wrong):
    with pytest.raises(InputError, match="probability"):
        confident(SCORES, threshold=wrong)
