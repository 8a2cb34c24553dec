"""What rules that weigh clients, or compare their signs, should make of a round."""

import numpy as np

from .. import naive, naive_weighted


def expected_of_weighted(ruled):
    """Return the twin's update, and how large the values are that it is made of."""
    rows, own = ruled.rows, ruled.settings
    expected = getattr(naive_weighted, ruled.rule.name)(rows, **own, weights=ruled.weights)
    alpha = own.get("alpha", 0.5)
    edges = naive_weighted.weighted_edges(rows, alpha + (len(rows) / 2**30 if alpha else 0), ruled.weights)
    return expected, np.abs(edges).max(axis=0)


def expected_of_aligned(ruled):
    """Return the mean of those who are kept, none of them longer than their median."""
    kept = ruled.rows[ruled.said.selected]
    if not len(kept):
        return np.zeros((2, ruled.rows.shape[1]))
    return naive.fedavg(naive.clipped(kept, np.median(naive.norms(kept)))), np.abs(kept).max(axis=0)
