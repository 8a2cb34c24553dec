import numpy as np
import pytest

from holdfast import TooFewClientsError, krum_trimmed_mean


def test_sixteen_of_twenty_are_selected_and_eight_averaged():
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.normal(size=(16, 5)), np.full((4, 5), 90.0)])
    expected = np.sort(rows[:16], axis=0)[4:12].mean(axis=0)
    np.testing.assert_allclose(krum_trimmed_mean(rows, n_malicious=4, alpha=0.25).update, expected)


def test_too_few_are_refused_by_its_own_name():
    with pytest.raises(TooFewClientsError, match="krum_trimmed_mean needs"):
        krum_trimmed_mean(np.ones((3, 1)), n_malicious=1)
