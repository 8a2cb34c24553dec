"""Every rule with settings that fit rounds of nine clients, and the inputs some of them need."""

import numpy as np

from holdfast import aggregators as a
from holdfast.updates import rows_of

RULES = [
    a.align_ins(top=0.5),
    a.and_mask(tau=0.3),
    a.arc(n_malicious=2),
    a.bucketing,
    a.bulyan(n_malicious=1),
    a.cached(momentum=0.5),
    a.centered_clipping,
    a.crfl(max_norm=0.5, sigma=0.0),
    a.dnc(n_malicious=2),
    a.fed_seca(kept=0.5),
    a.fedavg,
    a.fl_detector,
    a.flame(noise=0.0),
    a.fltrust,
    a.foolsgold,
    a.invariant(tau=0.3, alpha=0.25),
    a.krum(n_malicious=2),
    a.krum_trimmed_mean(n_malicious=2, alpha=0.2),
    a.mean_variance_mask(kappa=0.3),
    a.median,
    a.multi_krum(n_malicious=2),
    a.multi_krum_cosine(n_malicious=2),
    a.multi_metrics,
    a.nnm(n_malicious=2),
    a.norm_clipping,
    a.rfa,
    a.rflbat,
    a.rlr(threshold=3),
    a.sign_sgd,
    a.sparsefed(kept=0.4),
    a.trimmed_mean,
    a.weak_dp(sigma=0.0),
    a.weighted_invariant(tau=0.3, alpha=0.25),
    a.weighted_median,
    a.weighted_trimmed_mean,
]


def named(rule):
    return rule.name


def inputs(dim, dtype=np.float64):
    """What a server hands to whichever rule asks for it."""
    return {"reference": np.linspace(-1, 1, dim, dtype=dtype), "rng": np.random.default_rng(7)}


def call(rule, updates, **given):
    rows = rows_of(updates)
    return rule(rows, **{**inputs(rows.dim), **given})
