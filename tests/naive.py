"""Slow, obvious twins of the rules: NumPy in extended precision, one formula per line."""

import math

import numpy as np


def wide(values):
    return np.asarray(values, dtype=np.longdouble)


def trim_count(alpha, n):
    return min(math.ceil(alpha * n - 1e-9), (n - 1) // 2)


def votes(rows):
    return (np.sign(rows)).astype(int).sum(axis=0)


def passes(rows, tau, strict=False):
    total, n = np.abs(votes(rows)), len(rows)
    return total > tau * n + 1e-9 * n if strict else total >= tau * n - 1e-9 * n


def middle(rows, k):
    return np.sort(wide(rows), axis=0)[k : len(rows) - k]


def middle_mean(rows, k):
    return middle(rows, k).mean(axis=0)


def norms(rows):
    return np.sqrt((wide(rows) ** 2).sum(axis=-1))


def squared_distances(rows):
    rows = wide(rows)
    return np.array([((rows - row) ** 2).sum(axis=1) for row in rows])


def cosines(rows, other):
    lengths = norms(rows) * norms(other)
    return np.divide(wide(rows) @ wide(other), lengths, out=np.zeros_like(lengths), where=lengths > 0)


def angles(rows):
    return 1 - np.array([cosines(rows, row) for row in rows])


def shares(weights, n):
    counts = wide(np.ones(n) if weights is None or not np.any(weights) else weights)
    return counts / counts.sum()


def fedavg(rows, weights=None):
    return shares(weights, len(rows)) @ wide(rows)


def krum_scores(distances, n_malicious):
    n = len(distances)
    others = np.sort(distances[~np.eye(n, dtype=bool)].reshape(n, n - 1), axis=1)
    return others[:, : n - n_malicious - 2].sum(axis=1)


def best(scores, n_selected):
    return np.sort(np.argsort(scores, kind="stable")[:n_selected])


def krum(rows, n_malicious):
    return wide(rows)[best(krum_scores(squared_distances(rows), n_malicious), 1)[0]]


def crowd(rows, n_malicious, distances=squared_distances):
    return wide(rows)[best(krum_scores(distances(rows), n_malicious), len(rows) - n_malicious)]


def multi_krum(rows, n_malicious):
    return fedavg(crowd(rows, n_malicious))


def multi_krum_cosine(rows, n_malicious):
    return fedavg(crowd(rows, n_malicious, angles))


def trimmed_mean(rows, alpha):
    return middle_mean(rows, trim_count(alpha, len(rows)))


def krum_trimmed_mean(rows, n_malicious, alpha):
    return trimmed_mean(crowd(rows, n_malicious), alpha)


def median(rows):
    return middle_mean(rows, (len(rows) - 1) // 2)


def sign_sgd(rows, step):
    return step * np.sign(votes(rows))


def clipped(rows, max_norm):
    lengths = norms(rows)[:, None]
    return np.where(lengths > max_norm, wide(rows) * (max_norm / np.where(lengths > 0, lengths, 1)), rows)


def norm_clipping(rows, max_norm=None):
    return fedavg(clipped(rows, np.median(norms(rows)) if max_norm is None else max_norm))


def weak_dp(rows, max_norm, weights=None):
    return fedavg(clipped(rows, max_norm), weights)


def rlr(rows, threshold, weights=None):
    return np.where(np.abs(votes(rows)) >= threshold, 1, -1) * fedavg(rows, weights)


def rfa(rows, n_steps, smoothing, weights=None):
    own = shares(weights, len(rows))
    z = own @ wide(rows)
    for _ in range(n_steps):
        pulls = own / np.maximum(smoothing, norms(rows - z))
        z = pulls / pulls.sum() @ wide(rows)
    return z


def summed_distance(rows, z, weights=None):
    """What the geometric median makes as small as it can be."""
    return shares(weights, len(rows)) @ norms(rows - z)


def sparsefed(rows, kept, momentum, max_norm, velocity, error):
    velocity = momentum * velocity + norm_clipping(rows, max_norm)
    error = error + velocity
    moves = np.argsort(-np.abs(error), kind="stable")[: math.ceil(kept * len(error) - 1e-9)]
    update = np.zeros_like(error)
    update[moves] = error[moves]
    velocity[moves] = error[moves] = 0
    return update, velocity, error


def fltrust(rows, reference):
    trust = np.maximum(0, cosines(rows, reference))
    if not trust.sum():
        return np.zeros_like(wide(reference))
    scales = norms(reference) / np.where(trust > 0, norms(rows), 1)
    return trust * scales / trust.sum() @ wide(rows)


def and_mask(rows, tau, strict=False):
    return passes(rows, tau, strict) * middle_mean(rows, 0)


def mean_ratios(rows):
    mean, spread = middle_mean(rows, 0), np.sqrt(wide(rows).var(axis=0, ddof=1))
    unspread = np.where(mean != 0, np.inf, np.nan)  # a mean of zero without spread never stands out
    return np.divide(np.abs(mean), spread, out=wide(unspread), where=spread > 0)


def mean_variance_mask(rows, kappa, alpha):
    return (mean_ratios(rows) >= kappa) * trimmed_mean(rows, alpha)


def centered_clipping(rows, radius, n_steps, previous):
    v = wide(previous)
    for _ in range(n_steps):
        v = v + fedavg(clipped(rows - v, np.median(norms(rows - v)) if radius is None else radius))
    return v


def invariant(rows, tau, alpha, strict=False):
    return passes(rows, tau, strict) * trimmed_mean(rows, alpha)
