import numpy as np

from holdfast import multi_krum_cosine


def test_length_does_not_count_but_direction_does():
    rng = np.random.default_rng(0)
    honest = rng.normal(size=(7, 30)) * 0.1 + np.ones(30)
    honest[0] *= 100
    rows = np.vstack([honest, -np.ones((2, 30))])
    weights = multi_krum_cosine(rows, n_malicious=2).diagnostics.client_weights
    assert weights[7:].tolist() == [0, 0]
    assert weights[0] > 0


def test_no_guarantee_is_claimed():
    assert multi_krum_cosine(np.eye(6), n_malicious=1).diagnostics.covered is None
