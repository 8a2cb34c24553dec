"""Whether an update is what the slow twin of its rule says, as far as float64 can tell."""

from typing import Any, NamedTuple

import numpy as np

from .. import naive, naive_filters
from .fronts import expected_of_bulyan, expected_of_mixed, expected_of_nnm
from .remembering import expected_of_cached, expected_of_foolsgold
from .rounds import Round
from .weighing import expected_of_aligned, expected_of_weighted

#: Rules that measure the length of each row.
WITH_LENGTHS = {"align_ins", "centered_clipping", "fltrust", "norm_clipping", "rfa", "sparsefed", "weak_dp"}
WITH_LENGTHS |= {
    "arc",
    "bucketing",
    "bulyan",
    "nnm",
    "krum",
    "krum_trimmed_mean",
    "multi_krum",
    "multi_krum_cosine",
}
WITH_LENGTHS |= {"dnc", "fl_detector", "flame", "foolsgold", "multi_metrics", "rflbat"}
#: Squares are taken in float64: rows that are shorter count as zero.
SHORTEST = 1e-154
#: Rounding in sums over clients and coordinates in float64, relative to what is added up.
ROUNDING = 1e-11


def too_few(rule, n):
    """Return whether a rule is not defined for so many clients."""
    settings = dict(rule.settings)
    if rule.name in ("arc", "bucketing", "bulyan"):
        f = settings.get("n_malicious")
        return (
            n
            <= {"arc": f, "bucketing": 2 * settings.get("size", 0), "bulyan": max(4 * (f or 0), 2)}[rule.name]
        )
    return (
        n < settings.get("n_malicious", -99) + (1 if rule.name == "dnc" else 3)
        or n < (settings.get("n_selected") or 0)
        or n < settings.get("threshold", 0)
        or (rule.name == "mean_variance_mask" and n < 2)
        or (rule.name in ("multi_metrics", "rflbat") and n < 3)
    )


class Ruled(NamedTuple):
    """What a rule was given, and what came of it."""

    made: Round
    rule: Any
    rows: np.ndarray  # of those who count
    update: np.ndarray  # flat
    said: Any  # the diagnostics
    weights: np.ndarray | None
    given: dict

    @property
    def settings(self):
        return dict(self.rule.settings)


def check_update(ruled):
    """Raise unless the update is the twin's, coordinate by coordinate."""
    made, rule, rows, update = ruled[:4]
    with np.errstate(all="ignore"):
        wide = naive.wide(rows)
        if ruled.said.norms is not None:
            is_told = (naive.norms(wide) > SHORTEST) & (naive.norms(wide) < 1 / SHORTEST)
            np.testing.assert_allclose(ruled.said.norms[is_told], naive.norms(wide)[is_told], rtol=1e-9)
        if rule.name in WITH_LENGTHS:
            wide[naive.norms(wide) < SHORTEST] = 0
        expected, size = EXPECTED.get(rule.name, expected_plainly)(ruled._replace(rows=wide))
        allowed = made.spread("eps") * np.abs(expected) + made.spread("smallest_subnormal")
        is_off = ~(np.abs(update - expected) <= allowed + ROUNDING * size + SHORTEST)
        is_off &= np.abs(wide).sum(axis=0) <= np.finfo(np.float64).max  # a sum beyond it ends there
    for j in np.flatnonzero(is_off)[:1]:
        told = f"coordinate {j} is {update[j]}, not {expected[j]}, of {np.sort(rows[:, j])}"
        raise AssertionError(f"{rule}: {told}; {is_off.sum()} are off")


def expected_plainly(ruled):
    """Return the twin's update, and how large what it adds up is."""
    rule, rows, own = ruled.rule, ruled.rows, ruled.settings
    own.pop("sigma", None)
    if rule.needs("weights"):
        own["weights"] = ruled.weights
    if rule.needs("reference"):
        layers, _ = ruled.made.leaves(ruled.given["reference"])
        own["reference"] = np.concatenate(
            [layer.astype(ruled.made.rows.dtype).reshape(-1) for layer in layers]
        )
    expected = getattr(naive, rule.name)(rows, **own)
    if ruled.said.client_weights is not None:
        return expected, np.abs(ruled.said.client_weights) @ np.abs(rows)
    n_trimmed = naive.trim_count(own["alpha"], len(rows)) if "alpha" in own else 0
    n_trimmed = (len(rows) - 1) // 2 if rule.name == "median" else n_trimmed
    return expected, np.abs(naive.middle(rows, n_trimmed)).max(axis=0)


def expected_of_selected(ruled):
    """Return what comes of those selected, who must have the best scores as far as float64 can tell."""
    rule, rows, own, n = ruled.rule, ruled.rows, ruled.settings, len(ruled.rows)
    selected = ruled.said.selected
    squares = (rows**2).sum(axis=1)
    if rule.name == "multi_krum_cosine":
        distances, doubt = naive.angles(rows), np.full((n, n), ROUNDING)
    else:
        distances, doubt = naive.squared_distances(rows), ROUNDING * np.add.outer(squares, squares)
    low, high = (naive.krum_scores(d, own["n_malicious"]) for d in (distances - doubt, distances + doubt))
    n_selected = 1 if rule.name == "krum" else own["n_selected"] or n - own["n_malicious"]
    assert selected.sum() == n_selected
    if not selected.all():
        assert low[selected].max() <= high[~selected].min(), f"{rule} selects the wrong clients"
    chosen = rows[selected]
    expected = naive.trimmed_mean(chosen, own["alpha"]) if "alpha" in own else naive.fedavg(chosen)
    return expected, np.abs(chosen).max(axis=0)


def expected_of_kept(ruled):
    """Return the mean of those who are kept, which is all that rounding does not decide about."""
    kept = ruled.rows[ruled.said.selected]
    return (kept.mean(axis=0), np.abs(kept).max(axis=0)) if len(kept) else np.zeros((2, ruled.rows.shape[1]))


def expected_of_clipped(ruled):
    """Return the mean of those who are kept, none of them longer than the median of all."""
    limit, kept = np.median(naive.norms(ruled.rows)), ruled.rows[ruled.said.selected]
    assert 2 * len(kept) > len(ruled.rows)
    return naive.fedavg(naive.clipped(kept, limit)), np.abs(kept).max(axis=0)


def expected_of_crfl(ruled):
    """Return the twin's update of the server's model."""
    params = naive.wide(np.concatenate([layer.astype(np.float64).reshape(-1) for layer in ruled.made.base]))
    expected = naive_filters.crfl(ruled.rows, ruled.settings["max_norm"], params, ruled.weights)
    return expected, np.abs(ruled.rows).max(axis=0) + np.abs(params)


def expected_of_rfa(ruled):
    """Return the update itself, from which all rows together must be as near as from any other point."""
    rows, update, weights = ruled.rows, ruled.update, ruled.weights
    reached = naive.summed_distance(rows, update, weights)
    points = [*rows, naive.median(rows), naive.fedavg(rows, weights)]
    nearest = min(naive.summed_distance(rows, point, weights) for point in points)
    doubt = (ruled.made.spread("eps") * np.abs(update)).max() * len(update)
    assert reached <= 1.001 * nearest + doubt + 1e-6, f"rfa: {reached}, but there is a point with {nearest}"
    return update, np.zeros(len(update))


def expected_of_ratios(ruled):
    """Return the twin's update, and the same where a ratio is too near to kappa to tell."""
    rows, own, largest = ruled.rows, ruled.settings, np.abs(ruled.rows).max(axis=0)
    ratios = naive.mean_ratios(rows)
    doubt = ROUNDING * largest / np.abs(naive.fedavg(rows)) + 1e-9
    is_told = (np.abs(ratios / own["kappa"] - 1) > doubt) & (doubt < 1) & (largest < 1e150)
    kept = np.where(is_told, ratios >= own["kappa"], ruled.update != 0)
    return kept * naive.trimmed_mean(rows, own["alpha"]), largest


def expected_of_clipping(ruled):
    """Return the twin's update from where the last one ended."""
    rows, own, state = ruled.rows, ruled.settings, ruled.given.get("state")
    previous = np.zeros(rows.shape[1]) if state is None else naive.wide(state.previous)
    expected = naive.centered_clipping(rows, own["radius"], own["n_steps"], previous)
    size = np.abs(ruled.said.client_weights) @ np.abs(rows) + np.abs(previous)
    return expected, 1e5 * size.max()  # square roots of differences of squares


def expected_of_sparsefed(ruled):
    """Return the twin's update; where magnitudes tie as far as float64 can tell, either may move."""
    rows, own, state = ruled.rows, ruled.settings, ruled.given.get("state")
    dim, kind = rows.shape[1], ruled.made.rows.dtype
    momentum, error, seen = np.zeros(dim), np.zeros(dim), np.zeros(0)
    if state is not None:
        momentum, error, seen = map(naive.wide, (state.rule.momentum, state.rule.error, state.rule.norms))
    own["max_norm"] = own["max_norm"] or np.median(np.concatenate([seen, naive.norms(rows)]))
    size = np.abs(naive.clipped(rows, own["max_norm"])).mean(axis=0) + np.abs(momentum) + np.abs(error)
    whole = error + own["momentum"] * momentum + naive.norm_clipping(rows, own["max_norm"])
    expected, _, _ = naive.sparsefed(rows, **own, velocity=momentum, error=error)
    doubt = 4 * np.finfo(kind).eps * size  # momentum and error are kept in the rows' own type
    smallest = np.abs(expected[expected != 0]).min(initial=np.inf)
    is_close = np.abs(np.abs(whole) - smallest) <= doubt + doubt.max() * (doubt.max() > smallest)
    return np.where(is_close, np.where(ruled.update != 0, whole, 0), expected), doubt / ROUNDING


EXPECTED = {
    "align_ins": expected_of_aligned,
    "arc": expected_of_mixed,
    "bucketing": expected_of_mixed,
    "bulyan": expected_of_bulyan,
    "cached": expected_of_cached,
    "centered_clipping": expected_of_clipping,
    "crfl": expected_of_crfl,
    "dnc": expected_of_kept,
    "fl_detector": expected_of_kept,
    "flame": expected_of_clipped,
    "foolsgold": expected_of_foolsgold,
    "krum": expected_of_selected,
    "krum_trimmed_mean": expected_of_selected,
    "mean_variance_mask": expected_of_ratios,
    "multi_krum": expected_of_selected,
    "multi_krum_cosine": expected_of_selected,
    "multi_metrics": expected_of_kept,
    "nnm": expected_of_nnm,
    "rfa": expected_of_rfa,
    "rflbat": expected_of_kept,
    "sparsefed": expected_of_sparsefed,
    "weighted_invariant": expected_of_weighted,
    "weighted_median": expected_of_weighted,
    "weighted_trimmed_mean": expected_of_weighted,
}
