"""Figures 4 and 5 of the paper and the separable minima, drawn from studies, one a seed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..paper.studies import Histogram, Landscape, Mimicry, Separation
from .plotting import AGGREGATE, BENIGN, MALICIOUS, MUTED, new_figure, without_frame

__all__ = ["histogram_figure", "landscape_figure", "mimicry_figure", "separation_figure"]

#: Of the exposures, lowest first: they differ in darkness and in style, for those who see few colours.
SHADES = ("#e69f00", "#d55e00", "#6b2c00")
STYLES = ("-", (0, (5, 2)), (0, (1, 1.5)))
#: What the paper found: the share of entries kept, the cosine and the slowdown.
PRINTED = (1000 / 11_689_512, 0.983, 0.0385)


def landscape_figure(studies: Sequence[Landscape]) -> Any:
    """Return the slopes of each exposure, and those towards the backdoor in one panel.

    >>> from holdfast.paper.studies.landscape import Slope
    >>> slope = Slope(0.0, (0.0, 1.0), (0.0, 0.1), (0.0, 1.0), 1.0, 0, 9, 0.9, 0.0)
    >>> len(landscape_figure([Landscape("gradient", (0.0, 1.0), (slope,))]).axes)
    2
    """
    first = studies[0]
    figure = new_figure(3.1 * (len(first.slopes) + 1), 3.5)
    *panels, together = figure.subplots(1, len(first.slopes) + 1, sharey=True)
    for place, slope in enumerate(first.slopes):
        axes, letter = panels[place], "abcdefgh"[place]
        found = [study.slopes[place] for study in studies]
        shade, style = SHADES[place % 3], STYLES[place % 3]
        malicious, random = [one.malicious for one in found], [one.random for one in found]
        _band(axes, first.distances, malicious, MALICIOUS, "towards the backdoor", "-")
        _band(axes, first.distances, random, MUTED, "at random", (0, (4, 2)))
        _band(together, first.distances, malicious, shade, f"{slope.exposure:.0%} exposed", style)
        axes.set_title(f"({letter}) Edge case, {slope.exposure:.0%} exposed", fontsize=10, loc="left")
    together.set_title(f"({'abcdefgh'[len(panels)]}) Towards the backdoor", fontsize=10, loc="left")
    panels[0].set_ylabel("loss on honest examples")
    for axes in figure.axes:
        axes.set(xlim=(0, first.distances[-1]), ylim=(0, None))
        axes.locator_params(axis="x", nbins=4)
        axes.legend(frameon=False, fontsize=9, loc="upper left")
        axes.grid(axis="y", color="#e4e6ea", lw=0.8)
        without_frame(axes)
    unit = "the attackers' gradient" if first.direction == "gradient" else "the attackers' mean update"
    figure.supxlabel(
        f"distance from the minimum, in norms of {unit}." + _seeds(len(studies)), fontsize=9, color=AGGREGATE
    )
    return figure


def histogram_figure(study: Histogram) -> Any:
    """Return how many entries of a malicious update are how large: all of them, and the small ones.

    >>> from holdfast.paper.studies.mimicry import histogram_of
    >>> len(histogram_figure(histogram_of(np.array([0.1, -1.0]), n_bins=3)).axes)
    2
    """
    figure = new_figure(9, 3.4)
    whole, zoom = figure.subplots(1, 2)
    whole.stairs(study.counts, study.edges, fill=True, color=MALICIOUS)
    zoom.stairs(study.zoom_counts, study.zoom_edges, fill=True, color=MALICIOUS)
    tenth = study.share_above["1/10"]
    whole.set_title(
        f"(a) All {study.n_entries:,} entries; {tenth:.2%} are above\na tenth of the largest",
        fontsize=10,
        loc="left",
    )
    zoom.set_title("(b) Those below a hundredth of the largest", fontsize=10, loc="left")
    for axes, counts in ((whole, study.counts), (zoom, study.zoom_counts)):
        axes.set_ylim(0.7, 2 * max(1, *counts))  # before the logarithm: there may be no entry to scale by
        axes.set(yscale="log", ylabel="entries", xlabel="value of an entry of an attacker's update")
        without_frame(axes)
    return figure


def mimicry_figure(studies: Sequence[Mimicry]) -> Any:
    """Return what attackers gain in looks and lose in progress, by the share of entries they keep.

    >>> from holdfast.paper.studies.mimicry import Point
    >>> point = Point(1, 0.9, 0.5)
    >>> len(mimicry_figure([Mimicry(10, 1, 0.0, 1.0, point, (point, Point(10, 0.1, 0.0)))]).axes)
    2
    """
    figure = new_figure(9, 3.6)
    looks, cost = figure.subplots(1, 2, sharex=True)
    shares = [point.n_kept / studies[0].n_entries for point in studies[0].points]
    cosines = [[point.cosine for point in study.points] for study in studies]
    slowdowns = [[point.slowdown for point in study.points] for study in studies]
    _band(looks, shares, cosines, BENIGN, "measured", "-")
    _band(cost, shares, slowdowns, MALICIOUS, "measured", "-")
    looks.axhline(0.95, color=AGGREGATE, lw=1, ls=":", label="claimed: above .95")
    cost.axhline(0.1, color=AGGREGATE, lw=1, ls=":", label="claimed: below .1")
    for axes, printed in ((looks, PRINTED[1]), (cost, PRINTED[2])):
        axes.plot(PRINTED[0], printed, "*", color=AGGREGATE, ms=11, label="printed (ResNet-18)", ls="none")
        axes.set(xscale="log")
        axes.legend(frameon=False, fontsize=9)
        axes.grid(axis="y", color="#e4e6ea", lw=0.8)
        without_frame(axes)
    looks.set_title("(a) Cosine with the honest update it mimics", fontsize=10, loc="left")
    cost.set_title("(b) Slowdown of the attack; 1 is a standstill", fontsize=10, loc="left")
    figure.supxlabel(
        f"share of the {studies[0].n_entries:,} entries kept." + _seeds(len(studies)),
        fontsize=9,
        color=AGGREGATE,
    )
    return figure


def separation_figure(studies: Sequence[Separation]) -> Any:
    """Return distances from the hull of honest models, and the attack success of its points.

    >>> study = Separation(2.0, (1.0, 0.9), 1.5, (0.5, 0.5), 1.0, (0.0, 0.0), (0.0, 0.0), (0.9, 0.8))
    >>> len(separation_figure([study]).axes)
    2
    """
    figure = new_figure(9, 3.6)
    far, success = figure.subplots(1, 2)
    for place, study in enumerate(studies):
        honest = np.full(len(study.left_out), place)
        far.plot(honest, study.left_out, "o", color=BENIGN, ms=6, alpha=0.8, label="honest, from the others")
        far.plot(place, study.malicious, "*", color=MALICIOUS, ms=13, label="malicious")
    far.set(ylim=(0, None), xlim=(-0.5, len(studies) - 0.5), ylabel="distance from the hull")
    far.set_xticks(range(len(studies)), [f"run {place + 1}" for place in range(len(studies))])
    far.set_title("(a) Models after one round of local training", fontsize=10, loc="left")
    mixed = np.concatenate([study.mixed_success for study in studies])
    bins = np.linspace(0, 1, 21)
    success.hist(mixed, bins=bins, color=BENIGN, label=f"{len(mixed):,} random points of the hull")
    for study in studies:
        success.axvline(study.malicious_success, color=MALICIOUS, ls=(0, (4, 2)), label="the malicious model")
    success.set(yscale="log", ylim=(0.8, None), xlim=(-0.02, 1.02), xlabel="attack success", ylabel="points")
    success.set_title("(b) Does the backdoor work on the hull?", fontsize=10, loc="left")
    for axes in figure.axes:
        handles, labels = axes.get_legend_handles_labels()
        once = dict(zip(labels, handles, strict=True))
        axes.legend(once.values(), once.keys(), frameon=False, fontsize=9, loc="center")
        without_frame(axes)
    return figure


def _band(axes: Any, x: Sequence[float], rows: Any, colour: str, label: str, style: Any) -> None:
    """Draw the mean of some rows, in a band from the lowest to the highest."""
    numbers = np.asarray(rows, dtype=np.float64)
    axes.plot(x, numbers.mean(axis=0), color=colour, ls=style, lw=1.8, label=label)
    if len(numbers) > 1:
        axes.fill_between(x, numbers.min(axis=0), numbers.max(axis=0), color=colour, alpha=0.13, lw=0)


def _seeds(count: int) -> str:
    return "" if count == 1 else " Lines: mean of the seeds; bands: lowest to highest."
