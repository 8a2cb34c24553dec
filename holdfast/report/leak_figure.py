"""Leak against gain: how much of an attack each rule lets through, and how much of the honest step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .plotting import AGGREGATE, BENIGN, MALICIOUS, MUTED, new_figure, with_grid

__all__ = ["leak_figure"]

#: The largest gain that is shown where it is; what lies beyond stands at the edge, with its numbers.
LARGEST_GAIN = 1.6


def leak_figure(points: Mapping[str, Sequence[tuple[float, float]]], *, share: float, title: str) -> Any:
    """Return the rules by their gain and leak; of several draws, the mean in a cross from lowest to highest.

    `points` are (leak, gain) pairs by rule, one per draw, and `share` is that of the attackers, which
    plain averaging leaks. On the slanted line a rule leaks as much per gain.
    """
    figure = new_figure(10, max(5.0, 0.8 + 0.27 * len(points)))
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", weight="bold")
    axes, names = figure.subplots(1, 2, width_ratios=(3, 1))
    means = {name: np.mean(pairs, axis=0) for name, pairs in points.items()}
    leaks = [min(max(leak, -1.5 * share), 3 * share) for leak, _ in means.values()]
    low, high = min(0.0, *leaks), max(1.25 * share, *leaks)
    margin = 0.06 * (high - low)
    axes.set_ylim(low - margin, high + margin)
    axes.set_xlim(min(0.0, *(max(gain, -0.5) for _, gain in means.values())) - 0.05, LARGEST_GAIN)
    _draw_marks(axes, share)
    shown = {name: _shown(axes, mean) for name, mean in means.items()}
    for name, (x, y) in shown.items():
        leak, gain = np.array(points[name]).T
        inside = np.allclose((x, y), means[name][::-1])
        axes.plot(x, y, "o" if inside else "D", color=BENIGN, ms=6, zorder=3, clip_on=False)
        if inside and len(leak) > 1:
            axes.plot((gain.min(), gain.max()), (y, y), color=BENIGN, lw=0.9, alpha=0.6)
            axes.plot((x, x), (leak.min(), leak.max()), color=BENIGN, lw=0.9, alpha=0.6)
    _draw_names(axes, names, shown, means)
    axes.set_xlabel("gain: how much of the honest step survives")
    note = "On the dotted line, leak per gain is the attackers' share; well below it, a rule selects."
    figure.supxlabel(note, fontsize=9, color=MUTED, x=0.01, ha="left")
    axes.set_ylabel("leak: how much of the attack gets through")
    with_grid(axes)
    return figure


def _draw_marks(axes: Any, share: float) -> None:
    """Draw what to compare with: the attackers' share, as much leak per gain, and the ideal."""
    left, right = axes.get_xlim()
    axes.axhline(share, color=MALICIOUS, lw=1, ls=(0, (4, 2)))
    axes.text(left, share, f" attackers' share: {share:.2g}", color=MALICIOUS, fontsize=8, va="bottom")
    axes.plot((0, right), (0, share * right), color=MUTED, lw=1, ls=(0, (1, 1.5)))
    axes.plot(1, 0, "*", color=AGGREGATE, ms=14, zorder=2)
    axes.annotate("ideal", (1, 0), (8, 5), textcoords="offset points", fontsize=8, color=AGGREGATE)


def _shown(axes: Any, mean: Any) -> tuple[float, float]:
    """Return where a rule stands: at its gain and leak, or at the edge where those lie beyond."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    return float(np.clip(mean[1], left, right)), float(np.clip(mean[0], bottom, top))


def _draw_names(
    axes: Any, names: Any, shown: Mapping[str, tuple[float, float]], means: Mapping[str, Any]
) -> None:
    """Write the names beside the figure, in the order of the leaks, each with a line to its point."""
    from matplotlib.patches import ConnectionPatch

    names.set(xlim=(0, 1), ylim=(-0.5, len(shown) + 0.5))
    names.set_axis_off()
    names.text(0.02, len(shown), "rule  leak / gain", fontsize=9, va="center", color=MUTED)
    for place, name in enumerate(sorted(shown, key=lambda one: (shown[one][1], -shown[one][0]))):
        line = ConnectionPatch(
            shown[name], (0.0, place), axes.transData, names.transData, color=MUTED, lw=0.6, alpha=0.7
        )
        axes.figure.add_artist(line)
        leak, gain = means[name]
        names.text(0.02, place, f"{name}  {leak:.3f} / {gain:.2f}", fontsize=9, va="center")
