"""Figures 4 and 5 of the paper and the separable minima, from analyses in a document, one per seed."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .curves import band
from .plotting import AGGREGATE, BENIGN, MALICIOUS, MUTED, new_figure, with_grid, without_frame

__all__ = ["histogram", "landscape", "mimicry", "separation"]

Analyses = Sequence[Mapping[str, Any]]

#: Of the exposures, lowest first: they differ in darkness and in style, for those who see few colours.
SHADES = ("#e69f00", "#d55e00", "#6b2c00")
STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)))
#: What the paper found: the share of entries kept, the cosine and the slowdown.
PRINTED = (1000 / 11_689_512, 0.983, 0.0385)


def landscape(analyses: Analyses) -> Any:
    """Return the slopes of each exposure, and those towards the backdoor in one panel."""
    first = analyses[0]
    n_panels = len(first["slopes"]) + 1
    figure = new_figure(3.1 * n_panels, 3.5)
    *panels, together = figure.subplots(1, n_panels, sharey=True)
    for place, (axes, slope) in enumerate(zip(panels, first["slopes"], strict=True)):
        found = [one["slopes"][place] for one in analyses]
        malicious, random = ([one[name] for one in found] for name in ("malicious", "random"))
        exposed, shade = f"{slope['exposure']:.0%} exposed", SHADES[place % 3]
        band(axes, first["distances"], malicious, MALICIOUS, "towards the backdoor", "-")
        band(axes, first["distances"], random, MUTED, "at random", (0, (4, 2)))
        band(together, first["distances"], malicious, shade, exposed, STYLES[place % 3])
        axes.set_title(f"({'abcdefgh'[place]}) Edge case, {exposed}", fontsize=10, loc="left")
    together.set_title(f"({'abcdefgh'[len(panels)]}) Towards the backdoor", fontsize=10, loc="left")
    panels[0].set_ylabel("loss on honest examples")
    for axes in figure.axes:
        axes.set(xlim=(0, first["distances"][-1]), ylim=(0, None))
        axes.locator_params(axis="x", nbins=4)
        axes.legend(frameon=False, fontsize=9, loc="upper left")
        with_grid(axes)
    unit = "gradient" if first["direction"] == "gradient" else "mean update"
    _explain(figure, f"distance from the minimum, in norms of the attackers' {unit}.", analyses)
    return figure


def histogram(analyses: Analyses) -> Any:
    """Return how large the entries of the first malicious update are: all of them, and the small ones."""
    first = analyses[0]
    figure = new_figure(9, 3.4)
    whole, zoom = figure.subplots(1, 2)
    for axes, counts, edges in (
        (whole, first["counts"], first["edges"]),
        (zoom, first["zoom_counts"], first["zoom_edges"]),
    ):
        axes.stairs(counts, edges, fill=True, color=MALICIOUS)
        axes.set_ylim(0.7, 2 * max(1, *counts))  # before the logarithm: there may be no entry to scale by
        axes.set(yscale="log", ylabel="entries", xlabel="value of an entry of an attacker's update")
        without_frame(axes)
    tenth = first["share_above"]["1/10"]
    text = f"(a) All {first['n_entries']:,} entries; {tenth:.2%} are above\na tenth of the largest"
    whole.set_title(text, fontsize=10, loc="left")
    zoom.set_title("(b) Those below a hundredth of the largest", fontsize=10, loc="left")
    return figure


def mimicry(analyses: Analyses) -> Any:
    """Return what attackers gain in looks and lose in progress, by the share of entries they keep."""
    n_entries = analyses[0]["n_entries"]
    figure = new_figure(9, 3.6)
    shares = [point["n_kept"] / n_entries for point in analyses[0]["points"]]
    for axes, name, colour, claimed, printed, title in zip(
        figure.subplots(1, 2, sharex=True),
        ("cosine", "slowdown"),
        (BENIGN, MALICIOUS),
        ((0.95, "claimed: above .95"), (0.1, "claimed: below .1")),
        PRINTED[1:],
        ("(a) Cosine with the honest update it mimics", "(b) Slowdown of the attack; 1 is a standstill"),
        strict=True,
    ):
        measured = [[point[name] for point in one["points"]] for one in analyses]
        band(axes, shares, measured, colour, "measured", "-")
        axes.axhline(claimed[0], color=AGGREGATE, lw=1, ls=":", label=claimed[1])
        axes.plot(PRINTED[0], printed, "*", color=AGGREGATE, ms=11, label="printed (ResNet-18)", ls="none")
        axes.set(xscale="log")
        axes.set_title(title, fontsize=10, loc="left")
        axes.legend(frameon=False, fontsize=9)
        with_grid(axes)
    _explain(figure, f"share of the {n_entries:,} entries kept.", analyses)
    return figure


def separation(analyses: Analyses) -> Any:
    """Return distances from the hull of honest models, and the attack success of its points."""
    figure = new_figure(9, 3.6)
    far, success = figure.subplots(1, 2)
    for place, one in enumerate(analyses):
        honest = np.full(len(one["left_out"]), place)
        far.plot(honest, one["left_out"], "o", color=BENIGN, ms=6, alpha=0.8, label="honest, from the others")
        far.plot(place, one["malicious"], "*", color=MALICIOUS, ms=13, label="malicious")
    far.set(ylim=(0, None), xlim=(-0.5, len(analyses) - 0.5), ylabel="distance from the hull")
    far.set_xticks(range(len(analyses)), [f"run {place + 1}" for place in range(len(analyses))])
    far.set_title("(a) Models after one round of local training", fontsize=10, loc="left")
    mixed = np.concatenate([one["mixed_success"] for one in analyses])
    bins = np.linspace(0, 1, 21)
    success.hist(mixed, bins=bins, color=BENIGN, label=f"{len(mixed):,} random points of the hull")
    for one in analyses:
        at = one["malicious_success"]
        success.axvline(at, color=MALICIOUS, ls=(0, (4, 2)), label="the malicious model")
    success.set(yscale="log", ylim=(0.8, None), xlim=(-0.02, 1.02), xlabel="attack success", ylabel="points")
    success.set_title("(b) Does the backdoor work on the hull?", fontsize=10, loc="left")
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        axes.legend(once.values(), once.keys(), frameon=False, fontsize=9, loc="center")
        without_frame(axes)
    return figure


def _explain(figure: Any, text: str, analyses: Analyses) -> None:
    seeds = "" if len(analyses) == 1 else " Lines: mean of the seeds; bands: lowest to highest."
    figure.supxlabel(text + seeds, fontsize=9, color=AGGREGATE)
