"""Slow, obvious twins of the rules: plain loops over coordinates and clients, one formula per line."""

import math

import numpy as np


def sign(x):
    return int(x > 0) - int(x < 0)


def trim_count(alpha, n):
    return min(math.ceil(alpha * n - 1e-9), (n - 1) // 2)


def passes(column, tau, strict=False):
    total, n = abs(sum(sign(x) for x in column)), len(column)
    return total > tau * n + 1e-9 * n if strict else total >= tau * n - 1e-9 * n


def middle_mean(column, k):
    middle = sorted(float(x) for x in column)[k : len(column) - k]
    return math.fsum(middle) / len(middle)


def by_column(rows, rule):
    return np.array([rule([row[j] for row in rows]) for j in range(len(rows[0]))])


def distance(a, b):
    return math.sqrt(math.fsum((float(x) - float(y)) ** 2 for x, y in zip(a, b, strict=True)))


def norm(a):
    return math.sqrt(math.fsum(float(x) ** 2 for x in a))


def cosine(a, b):
    length = norm(a) * norm(b)
    return math.fsum(float(x) * float(y) for x, y in zip(a, b, strict=True)) / length if length else 0.0


def weighted_sum(weights, rows):
    return by_column(
        rows, lambda column: math.fsum(w * float(x) for w, x in zip(weights, column, strict=True))
    )


def shares(weights, n):
    total = sum(weights) if weights is not None else 0
    return [w / total for w in weights] if total else [1 / n] * n


def fedavg(rows, weights=None):
    return weighted_sum(shares(weights, len(rows)), rows)


def krum_order(rows, n_malicious, between=lambda a, b: distance(a, b) ** 2):
    n = len(rows)
    scores = []
    for i in range(n):
        others = sorted(between(rows[i], rows[j]) for j in range(n) if j != i)
        scores.append(sum(others[: n - n_malicious - 2]))
    return sorted(range(n), key=lambda i: scores[i])


def krum(rows, n_malicious):
    return np.array(rows[krum_order(rows, n_malicious)[0]], dtype=np.float64)


def multi_krum(rows, n_malicious):
    return fedavg([rows[i] for i in krum_order(rows, n_malicious)[: len(rows) - n_malicious]])


def multi_krum_cosine(rows, n_malicious):
    order = krum_order(rows, n_malicious, between=lambda a, b: 1 - cosine(a, b))
    return fedavg([rows[i] for i in order[: len(rows) - n_malicious]])


def trimmed_mean(rows, alpha):
    return by_column(rows, lambda column: middle_mean(column, trim_count(alpha, len(column))))


def krum_trimmed_mean(rows, n_malicious, alpha):
    return trimmed_mean([rows[i] for i in krum_order(rows, n_malicious)[: len(rows) - n_malicious]], alpha)


def median(rows):
    return by_column(rows, lambda column: middle_mean(column, (len(column) - 1) // 2))


def sign_sgd(rows, step):
    return by_column(rows, lambda column: step * sign(sum(sign(x) for x in column)))


def clipped(row, max_norm):
    return [float(x) / max(1, norm(row) / max_norm) for x in row]


def norm_clipping(rows, max_norm=None):
    limit = float(np.median([norm(row) for row in rows])) if max_norm is None else max_norm
    return fedavg([clipped(row, limit) if limit else [0.0] * len(row) for row in rows])


def weak_dp(rows, max_norm, weights=None):
    return fedavg([clipped(row, max_norm) for row in rows], weights)


def rlr(rows, threshold, weights=None):
    turn = by_column(rows, lambda column: 1 if abs(sum(sign(x) for x in column)) >= threshold else -1)
    return turn * fedavg(rows, weights)


def rfa(rows, n_steps, smoothing, weights=None):
    own = shares(weights, len(rows))
    z = weighted_sum(own, rows)
    for _ in range(n_steps):
        pulls = [a / max(smoothing, distance(row, z)) for a, row in zip(own, rows, strict=True)]
        z = weighted_sum([pull / sum(pulls) for pull in pulls], rows)
    return z


def sparsefed(rows, kept, momentum, max_norm, velocity, error):
    velocity = momentum * velocity + norm_clipping(rows, max_norm)
    error = error + velocity
    order = sorted(range(len(error)), key=lambda j: (-abs(error[j]), j))[
        : math.ceil(kept * len(error) - 1e-9)
    ]
    update = np.zeros(len(error))
    for j in order:
        update[j], error[j], velocity[j] = error[j], 0.0, 0.0
    return update, velocity, error


def fltrust(rows, reference):
    trust = [max(0.0, cosine(row, reference)) for row in rows]
    if not sum(trust):
        return np.zeros(len(reference))
    weights = [
        t * norm(reference) / norm(row) / sum(trust) if t else 0.0 for t, row in zip(trust, rows, strict=True)
    ]
    return weighted_sum(weights, rows)


def and_mask(rows, tau, strict=False):
    return by_column(rows, lambda column: passes(column, tau, strict) * middle_mean(column, 0))


def mean_variance_mask(rows, kappa, alpha):
    def rule(column):
        mean = middle_mean(column, 0)
        variance = math.fsum((float(x) - mean) ** 2 for x in column) / (len(column) - 1)
        stands_out = abs(mean) / math.sqrt(variance) >= kappa if variance else mean != 0
        return stands_out * middle_mean(column, trim_count(alpha, len(column)))

    return by_column(rows, rule)


def centered_clipping(rows, radius, n_steps, previous):
    v = np.array(previous, dtype=np.float64)
    for _ in range(n_steps):
        pulled = [np.array(clipped(np.asarray(row, dtype=np.float64) - v, radius)) for row in rows]
        v = v + sum(pulled) / len(rows)
    return v


def invariant(rows, tau, alpha, strict=False):
    return by_column(
        rows, lambda column: passes(column, tau, strict) * middle_mean(column, trim_count(alpha, len(column)))
    )
