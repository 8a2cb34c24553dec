"""The twins of Bulyan and of rules in front of another, as far as float64 can tell."""

import numpy as np

from .. import naive, naive_fronts

#: Rounding in float64, relative to what is added up.
ROUNDING = 1e-11


def expected_of_nnm(ruled):
    """Return the mixed row that Krum chose, which must be the mean of nearest neighbours."""
    rows, n_nearest = ruled.rows, len(ruled.rows) - ruled.settings["n_malicious"]
    is_in, squares = ruled.said.client_weights > 0, (ruled.rows**2).sum(axis=1)
    assert is_in.sum() == n_nearest
    doubt = ROUNDING * np.add.outer(squares, squares)
    distances = naive.squared_distances(rows)
    farthest = np.where(is_in, distances - doubt, -np.inf).max(axis=1)
    nearest_out = np.where(is_in, np.inf, distances + doubt).min(axis=1)
    assert (is_in & (farthest <= nearest_out)).any(), "these are not the nearest neighbours of any of them"
    return rows[is_in].mean(axis=0), rounded(ruled, np.abs(rows[is_in]).max(axis=0))


def expected_of_mixed(ruled):
    """Return the twin's trimmed mean of what another rule made of the rows, rounded to their type."""
    own, made = ruled.settings, []
    alpha = dict(own.pop("rule").settings)["alpha"]
    for rows in (ruled.rows, np.abs(ruled.rows)):  # the second: how large what is added up is
        drawn = {"rng": np.random.default_rng(0)} if ruled.rule.name == "bucketing" else {}
        getattr(naive_fronts, ruled.rule.name)(rows, **own, **drawn, behind=made.append)
    mixed, sizes = made
    middle = naive.middle(mixed, naive.trim_count(alpha, len(mixed)))
    doubt = ROUNDING * sizes  # whoever may be in the middle
    is_near = (mixed + doubt >= middle.min(axis=0)) & (mixed - doubt <= middle.max(axis=0))
    return middle.mean(axis=0), rounded(ruled, np.where(is_near, sizes, 0).max(axis=0))


def expected_of_bulyan(ruled):
    """Return what comes of those selected; of two values equally close to the median, either may do."""
    f, chosen = ruled.settings["n_malicious"], np.sort(ruled.rows[ruled.said.selected], axis=0)
    n_near = len(ruled.rows) - 4 * f
    assert len(chosen) == len(ruled.rows) - 2 * f
    expected = naive_fronts.closest_to_median(chosen, n_near)
    away = np.sort(np.abs(chosen - np.median(chosen, axis=0)), axis=0)
    if f:
        is_close = away[n_near] - away[n_near - 1] <= 1e-12 * away[n_near]
        expected = np.where(is_close, ruled.update, expected)
    return expected, np.abs(chosen).max(axis=0) if not f else away[n_near - 1] + np.abs(expected)


def rounded(ruled, largest):
    """Return the size of what rounding sums to the rows' type may change, too."""
    kind = np.finfo(ruled.made.rows.dtype)
    return largest + (4 * kind.eps * largest + kind.smallest_subnormal) / ROUNDING
