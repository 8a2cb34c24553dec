"""Whether an update is what the slow twin of its rule says, as far as float64 can tell."""

import numpy as np

from .. import naive

#: Rules that measure the length of each row.
WITH_LENGTHS = {
    "centered_clipping",
    "fltrust",
    "krum",
    "krum_trimmed_mean",
    "multi_krum",
    "multi_krum_cosine",
}
WITH_LENGTHS |= {"norm_clipping", "rfa", "sparsefed", "weak_dp"}
#: Squares are taken in float64: rows that are shorter count as zero.
SHORTEST = 1e-154
#: Rounding in sums over clients and coordinates in float64, relative to what is added up.
ROUNDING = 1e-11


def too_few(rule, n):
    """Return whether a rule is not defined for so many clients."""
    settings = dict(rule.settings)
    return (
        n < settings.get("n_malicious", -99) + 3
        or n < (settings.get("n_selected") or 0)
        or n < settings.get("threshold", 0)
        or (rule.name == "mean_variance_mask" and n < 2)
    )


def check_update(made, rule, rows, update, said, weights, state):
    """Raise unless the update is the twin's, coordinate by coordinate."""
    with np.errstate(all="ignore"):
        wide = naive.wide(rows)
        if rule.name in WITH_LENGTHS:
            wide[naive.norms(wide) < SHORTEST] = 0
        expected, size = CHECKS.get(rule.name, check_plain)(made, rule, wide, update, said, weights, state)
        step, tiny = made.spread("eps"), made.spread("smallest_subnormal")
        allowed = step * np.abs(expected) + ROUNDING * size + tiny + SHORTEST
        is_told = (
            np.abs(wide).sum(axis=0) <= np.finfo(np.float64).max
        )  # beyond, a sum ends where float64 does
        off = np.flatnonzero(~(np.abs(update - expected) <= allowed) & is_told)
    if len(off):
        j = off[0]
        column = np.sort(rows[:, j])
        raise AssertionError(
            f"{rule}: coordinate {j} is {update[j]}, not {expected[j]}, of {column}; {len(off)} are off"
        )


def check_plain(made, rule, rows, update, said, weights, state):
    """Return the twin's update, and how large what it adds up is."""
    own = dict(rule.settings)
    own.pop("sigma", None)
    if rule.needs("weights"):
        own["weights"] = weights
    if rule.needs("reference"):
        own["reference"] = made.reference
    expected = getattr(naive, rule.name)(rows, **own)
    if said.client_weights is not None:
        return expected, np.abs(said.client_weights) @ np.abs(rows)
    n_trimmed = naive.trim_count(own["alpha"], len(rows)) if "alpha" in own else 0
    n_trimmed = (len(rows) - 1) // 2 if rule.name == "median" else n_trimmed
    return expected, np.abs(naive.middle(rows, n_trimmed)).max(axis=0)


def check_selected(made, rule, rows, update, said, weights, state):
    """Return what comes of those selected, who must have the best scores as far as float64 can tell."""
    own, n = dict(rule.settings), len(rows)
    squares = (rows**2).sum(axis=1)
    if rule.name == "multi_krum_cosine":
        distances, doubt = naive.angles(rows), np.full((n, n), ROUNDING)
    else:
        distances, doubt = naive.squared_distances(rows), ROUNDING * np.add.outer(squares, squares)
    low, high = (naive.krum_scores(d, own["n_malicious"]) for d in (distances - doubt, distances + doubt))
    n_selected = 1 if rule.name == "krum" else own["n_selected"] or n - own["n_malicious"]
    assert said.selected.sum() == n_selected
    if not said.selected.all():
        assert low[said.selected].max() <= high[~said.selected].min(), f"{rule} selects the wrong clients"
    chosen = rows[said.selected]
    expected = naive.trimmed_mean(chosen, own["alpha"]) if "alpha" in own else naive.fedavg(chosen)
    return expected, np.abs(chosen).max(axis=0)


def check_median(made, rule, rows, update, said, weights, state):
    """Return the update itself, from which all rows together must be as near as from any other point."""
    reached = naive.summed_distance(rows, update, weights)
    points = [*rows, naive.median(rows), naive.fedavg(rows, weights)]
    nearest = min(naive.summed_distance(rows, point, weights) for point in points)
    doubt = (made.spread("eps") * np.abs(update)).max() * len(update)
    assert reached <= 1.001 * nearest + doubt + 1e-6, f"rfa: {reached}, but there is a point with {nearest}"
    return update, np.zeros(len(update))


def check_ratios(made, rule, rows, update, said, weights, state):
    """Return the twin's update, and the same where a ratio is too near to kappa to tell."""
    own, largest = dict(rule.settings), np.abs(rows).max(axis=0)
    ratios = naive.mean_ratios(rows)
    doubt = ROUNDING * largest / np.abs(naive.fedavg(rows)) + 1e-9
    is_told = (np.abs(ratios / own["kappa"] - 1) > doubt) & (doubt < 1) & (largest < 1e150)
    kept = np.where(is_told, ratios >= own["kappa"], update != 0)
    return kept * naive.trimmed_mean(rows, own["alpha"]), largest


def check_centre(made, rule, rows, update, said, weights, state):
    """Return the twin's update from where the last one ended."""
    own = dict(rule.settings)
    previous = np.zeros(rows.shape[1]) if state is None else naive.wide(state.previous)
    expected = naive.centered_clipping(rows, own["radius"], own["n_steps"], previous)
    size = np.abs(said.client_weights) @ np.abs(rows) + np.abs(previous)
    return expected, 1e5 * size.max()  # square roots of differences of squares


def check_sparse(made, rule, rows, update, said, weights, state):
    """Return the twin's update; where magnitudes tie as far as float64 can tell, either may move."""
    own, dim = dict(rule.settings), rows.shape[1]
    momentum, error, seen = np.zeros(dim), np.zeros(dim), np.zeros(0)
    if state is not None:
        momentum, error, seen = map(naive.wide, (state.rule.momentum, state.rule.error, state.rule.norms))
    own["max_norm"] = own["max_norm"] or np.median(np.concatenate([seen, naive.norms(rows)]))
    size = np.abs(naive.clipped(rows, own["max_norm"])).mean(axis=0) + np.abs(momentum) + np.abs(error)
    whole = error + own["momentum"] * momentum + naive.norm_clipping(rows, own["max_norm"])
    expected, _, _ = naive.sparsefed(rows, **own, velocity=momentum, error=error)
    doubt = 4 * np.finfo(made.rows.dtype).eps * size  # momentum and error are kept in the rows' own type
    smallest = np.abs(expected[expected != 0]).min(initial=np.inf)
    is_close = np.abs(np.abs(whole) - smallest) <= doubt + doubt.max() * (doubt.max() > smallest)
    return np.where(is_close, np.where(update != 0, whole, 0), expected), doubt / ROUNDING


CHECKS = {
    "centered_clipping": check_centre,
    "krum": check_selected,
    "krum_trimmed_mean": check_selected,
    "mean_variance_mask": check_ratios,
    "multi_krum": check_selected,
    "multi_krum_cosine": check_selected,
    "rfa": check_median,
    "sparsefed": check_sparse,
}
