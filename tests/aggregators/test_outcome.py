import numpy as np

from holdfast import kernels
from holdfast.aggregators.outcome import outcome
from holdfast.updates import rows_of


def test_nothing_is_measured_unless_the_rows_ask_for_it():
    matrix = np.random.default_rng(0).normal(size=(4, 10))
    for explain in (False, True):
        rows = rows_of(matrix, explain=explain)
        said = outcome("mean", rows, kernels.trimmed_mean(rows, n_trimmed=0), covered=True).diagnostics
        assert (said.norms is not None) is explain
        assert said.covered


def test_an_update_of_zeros_has_no_angle():
    rows = rows_of(np.array([[1.0], [-1.0]]), explain=True)
    assert outcome("mean", rows, kernels.trimmed_mean(rows, n_trimmed=0)).diagnostics.cosines.tolist() == [
        0,
        0,
    ]
