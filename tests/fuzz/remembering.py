"""What the rules that remember every client make of a first round, as far as rounding lets anybody tell."""

import numpy as np

from .. import naive, naive_histories


def expected_of_foolsgold(ruled):
    """Return the sum with the weights that were told, which are the twin's where rounding decides nothing."""
    rows, said, own = ruled.rows, ruled.said.client_weights, ruled.settings
    lengths = naive.norms(rows)
    histories = rows / np.maximum(1, lengths)[:, None]
    weights = naive_histories.foolsgold_weights(histories, own["confidence"])
    doubt = [naive_histories.foolsgold_weights(histories * (1 + np.float64(sign) * 1e-5 * noise(rows.shape)))
             for sign in (-1, 0, 1)]  # fmt: skip
    if np.ptp(doubt, axis=0).max() < 1e-2 and lengths.min() > 1e-30:  # shorter ones are dust in float32
        expected = weights / weights.sum() if weights.any() else weights
        np.testing.assert_allclose(said, expected.astype(float), atol=1e-2 * own["confidence"])
    return said @ rows, np.abs(said) @ np.abs(rows)


def noise(shape):
    return np.random.default_rng(0).uniform(-1, 1, size=shape)


def expected_of_cached(ruled):
    """Return the twin's trimmed mean of momenta, each rounded to the rows' type, and cut off far out."""
    rows, own, kind = ruled.rows, ruled.settings, np.finfo(ruled.made.rows.dtype)
    farthest = np.sqrt(np.finfo(np.float64).max / 2**26 / rows.shape[1])
    momenta = np.clip(own["momentum"] * rows, -farthest, farthest)
    alpha = dict(own["rule"].settings)["alpha"]
    largest = np.abs(naive.middle(momenta, naive.trim_count(alpha, len(rows)))).max(axis=0)
    return naive.trimmed_mean(momenta, alpha), (4 * kind.eps * largest + kind.smallest_subnormal) / 1e-11
