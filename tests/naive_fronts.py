"""Slow, obvious twins of Bulyan and of the rules in front of others, in extended precision."""

import numpy as np

from .naive import fedavg, krum_scores, norms, squared_distances, trimmed_mean, wide


def nnm(rows, n_malicious, behind=lambda rows: trimmed_mean(rows, 0.25)):
    mixed = []
    for i, row in enumerate(wide(rows)):
        away = ((wide(rows) - row) ** 2).sum(axis=1)
        away[i] = -1
        nearest = np.argsort(away, kind="stable")[: len(rows) - n_malicious]
        mixed.append(fedavg(wide(rows)[nearest]))
    return behind(np.array(mixed))


def bucketing(rows, size, rng, behind=lambda rows: trimmed_mean(rows, 0.25)):
    shuffled = wide(rows)[rng.permutation(len(rows))]
    return behind(np.array([fedavg(shuffled[at : at + size]) for at in range(0, len(rows), size)]))


def arc(rows, n_malicious, behind=lambda rows: trimmed_mean(rows, 0.25)):
    n, lengths = len(rows), norms(rows)
    longest = np.sort(lengths)[::-1][int(2 * n_malicious / n * (n - n_malicious) + 1e-9)]
    cut = [
        row * longest / length if length > longest else row
        for row, length in zip(wide(rows), lengths, strict=True)
    ]
    return behind(np.array(cut))


def selected_by_krum(rows, n_malicious):
    """Return the n - 2f rows that Krum takes away one after the other."""
    left = list(range(len(rows)))
    chosen = []
    while len(chosen) < len(rows) - 2 * n_malicious:
        distances = squared_distances(wide(rows)[left])
        if len(left) > n_malicious + 2:
            scores = krum_scores(distances, n_malicious)
        else:
            scores = np.sort(distances, axis=1)[:, :2].sum(axis=1)  # itself, and one neighbour
        best = min(range(len(left)), key=lambda i: (scores[i], distances[i].sum()))
        chosen.append(left.pop(best))
    return np.sort(chosen)


def closest_to_median(rows, n_near):
    """Return the mean of each column's values closest to its median, once with the lower of those that are
    equally close and once with the upper: halfway between both.
    """
    means = []
    for ordered in (np.sort(wide(rows), axis=0), np.sort(wide(rows), axis=0)[::-1]):
        away = np.abs(ordered - np.median(ordered, axis=0))
        nearest = np.argsort(away, axis=0, kind="stable")[:n_near]
        means.append(np.take_along_axis(ordered, nearest, axis=0).mean(axis=0))
    return (means[0] + means[1]) / 2


def bulyan(rows, n_malicious):
    chosen = selected_by_krum(rows, n_malicious)
    return closest_to_median(wide(rows)[chosen], len(rows) - 4 * n_malicious)
