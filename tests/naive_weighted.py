"""Slow, obvious twins of the rules that weigh clients by their examples, and of those that compare signs."""

import math

import numpy as np

from .naive import clipped, cosines, fedavg, norms, shares, wide


def in_order(rows, weights=None):
    """The values of each column in order, how wide each is, and where it ends if they lie side by side."""
    order = np.argsort(rows, axis=0, kind="stable")
    widths = shares(weights, len(rows))[order]
    return np.take_along_axis(wide(rows), order, axis=0), widths, np.cumsum(widths, axis=0)


def weighted_edges(rows, least, weights=None):
    """The first value from either end of each column that ends past the least weight."""
    values, widths, ends = in_order(rows, weights)
    past = np.argmax(ends > least, axis=0), np.argmax(np.cumsum(widths[::-1], axis=0) > least, axis=0)
    columns = np.arange(rows.shape[1])
    return values[past[0], columns], values[::-1][past[1], columns]


def weighted_trimmed_mean(rows, alpha, weights=None):
    """Lay the values of a column side by side, as wide as their weights, and cut off alpha at both ends.

    What is left of a value at the boundary, if it is less than rounding can tell, has its neighbour's value.
    """
    values, widths, ends = in_order(rows, weights)
    inside = np.maximum(0, np.minimum(ends, 1 - alpha) - np.maximum(ends - widths, alpha))
    low, high = weighted_edges(rows, alpha + (len(rows) / 2**30 if alpha else 0), weights)
    return (inside * np.clip(values, low, high)).sum(axis=0) / inside.sum(axis=0)


def weighted_median(rows, weights=None):
    """The midpoint of the lowest and the highest value with half of the weight on either side."""
    upper, lower = weighted_edges(rows, 0.5 + len(rows) / 2**30, weights)
    return (lower + upper) / 2


def weighted_passes(rows, tau, weights=None):
    return np.abs(shares(weights, len(rows)) @ np.sign(wide(rows))) >= tau - 1e-8


def weighted_invariant(rows, tau, alpha, weights=None):
    return weighted_passes(rows, tau, weights) * weighted_trimmed_mean(rows, alpha, weights)


def top_agreement(rows, n_top):
    """The share of each row's largest magnitudes with the majority's sign, on average over how ties break."""
    agrees, found = np.sign(rows) == np.sign(np.sign(rows).sum(axis=0)), []
    for magnitudes, own in zip(np.abs(rows), agrees, strict=True):
        last = np.sort(magnitudes)[-n_top]
        above, tied = own[magnitudes > last], own[magnitudes == last]
        found.append((above.sum() + (n_top - len(above)) * tied.mean()) / n_top)
    return np.array(found)


def is_usual(scores, radius):
    far = np.abs(scores - np.median(scores))
    return (far < radius * np.std(scores)) | (far <= 1e-12)


def align_ins(rows, top, lambda_s=1.0, lambda_c=1.0, params=None):
    own = np.zeros(rows.shape[1]) if params is None else params
    signs = top_agreement(rows, max(1, math.floor(top * rows.shape[1] + 1e-9)))
    kept = wide(rows)[is_usual(signs, lambda_s) & is_usual(cosines(rows, own), lambda_c)]
    return fedavg(clipped(kept, np.median(norms(kept)))) if len(kept) else np.zeros(rows.shape[1])


def fed_seca(rows, kept):
    signs, n = np.sign(rows).astype(int), len(rows)
    votes = np.maximum(0, np.sign(signs @ signs.T).sum(axis=1))
    elected = np.sign(votes @ signs)
    short = clipped(rows, np.median(norms(rows)))
    middle = np.sort(np.abs(short), axis=0)[(n - 1) // 2]
    n_kept = max(1, math.ceil(kept * rows.shape[1] - 1e-9))
    cutoffs = -np.sort(-np.abs(rows), axis=1)[:, n_kept - 1 : n_kept]
    adds = (signs * elected > 0) & (np.abs(rows) >= cutoffs)
    return (
        elected
        * np.where(adds, np.minimum(np.abs(short), middle), 0).sum(axis=0)
        / np.maximum(1, adds.sum(axis=0))
    )
