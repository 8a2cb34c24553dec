"""Every rule with settings that fit rounds of nine clients, and the inputs some of them need."""

import numpy as np

from holdfast import aggregators as a
from holdfast import bind, rows_of

RULES = [
    bind(a.and_mask, tau=0.3),
    bind(a.centered_clipping),
    bind(a.fedavg),
    bind(a.fltrust),
    bind(a.invariant, tau=0.3, alpha=0.25),
    bind(a.krum, n_malicious=2),
    bind(a.krum_trimmed_mean, n_malicious=2, alpha=0.2),
    bind(a.mean_variance_mask, kappa=0.3),
    bind(a.median),
    bind(a.multi_krum, n_malicious=2),
    bind(a.multi_krum_cosine, n_malicious=2),
    bind(a.norm_clipping),
    bind(a.rfa),
    bind(a.rlr, threshold=3),
    bind(a.sign_sgd),
    bind(a.sparsefed, kept=0.4),
    bind(a.trimmed_mean),
    bind(a.weak_dp, sigma=0.0),
]


def named(rule):
    return rule.name


def inputs(dim, dtype=np.float64):
    """What a server hands to whichever rule asks for it."""
    return {"reference": np.linspace(-1, 1, dim, dtype=dtype), "rng": np.random.default_rng(7)}


def call(rule, updates, **given):
    rows = rows_of(updates)
    return rule(rows, **{**inputs(rows.dim), **given})
