import numpy as np
import pytest

from holdfast import krum_trimmed_mean
from holdfast.errors import TooFewClientsError
from holdfast.updates import rows_of


def test_sixteen_of_twenty_are_selected_and_eight_averaged():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(16, 5)), np.full((4, 5), 90.0)])
    expected = np.sort(rows[:16], axis=0)[4:12].mean(axis=0)
    np.testing.assert_allclose(krum_trimmed_mean(rows, n_malicious=4, alpha=0.25).update, expected)


def test_who_is_not_selected_counts_as_trimmed_everywhere():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 200))
    rows[3] = np.median(rows, axis=0)
    rows[3, :20] += 50  # in most coordinates it would be in the middle
    said = krum_trimmed_mean(rows_of(rows, explain=True), n_malicious=4).diagnostics
    assert not said.selected[3]
    assert said.trimmed_share[3] == 1
    assert (said.trimmed_share[said.selected] < 1).all()
    assert said.selected.sum() == 16
    assert "selected" in str(said)


def test_too_few_are_refused_by_its_own_name():
    with pytest.raises(TooFewClientsError, match="krum_trimmed_mean needs"):
        krum_trimmed_mean(np.ones((3, 1)), n_malicious=1)
