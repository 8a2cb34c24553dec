"""Slow, obvious twins of the rules that weigh clients by their examples, and of those that compare signs."""

import math

import numpy as np

from .naive import clipped, cosines, fedavg, norms, shares, wide


def weighted_trimmed_mean(rows, alpha, weights=None):
    """Lay the values of a column side by side, as wide as their weights, and cut off alpha at both ends.

    What is left of a value at the boundary, if it is less than rounding can tell, has its neighbour's value.
    """
    own, update = shares(weights, len(rows)), []
    least = alpha + (len(rows) / 2**30 if alpha else 0)
    for column in wide(rows).T:
        order = np.argsort(column, kind="stable")
        values, widths = column[order], own[order]
        ends = np.cumsum(widths)
        inside = np.maximum(0, np.minimum(ends, 1 - alpha) - np.maximum(ends - widths, alpha))
        low = values[np.argmax(ends > least)]
        high = values[::-1][np.argmax(np.cumsum(widths[::-1]) > least)]
        update.append(inside @ np.clip(values, low, high) / inside.sum())
    return wide(update)


def weighted_median(rows, weights=None):
    own, update = shares(weights, len(rows)), []
    for column in wide(rows).T:
        lower = min(x for x in column if own[column <= x].sum() >= 0.5 - 1e-8)
        upper = max(x for x in column if own[column >= x].sum() >= 0.5 - 1e-8)
        update.append((lower + upper) / 2)
    return wide(update)


def weighted_passes(rows, tau, weights=None):
    return np.abs(shares(weights, len(rows)) @ np.sign(wide(rows))) >= tau - 1e-8


def weighted_invariant(rows, tau, alpha, weights=None):
    return weighted_passes(rows, tau, weights) * weighted_trimmed_mean(rows, alpha, weights)


def top_agreement(rows, n_top):
    """The mean, over both ways to break ties, of the agreement at each row's largest magnitudes.

    From the first coordinate or from the last, which is all ways where at most two values tie.
    """
    majority = np.sign(np.sign(rows).sum(axis=0))
    found = []
    for turn in (1, -1):
        order = np.argsort(-np.abs(rows[:, ::turn]), axis=1, kind="stable")[:, :n_top]
        agrees = (np.sign(rows) == majority)[:, ::turn]
        found.append(np.take_along_axis(agrees, order, axis=1).mean(axis=1))
    return (found[0] + found[1]) / 2


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
