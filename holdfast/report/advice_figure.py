"""The adviser's answer as a map: which pairs of alpha and tau keep the risk, and where the published lie."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..theory.advice_text import percent
from ..theory.adviser import Advice
from .plotting import AGGREGATE, BENIGN, MALICIOUS, new_figure, save

__all__ = ["draw_region", "region_figure"]

#: What can be wrong with a pair of settings, most serious first, and the colour it is drawn in.
FLAWS = {
    "magnitudes decide the direction": "#e8b4ae",
    "more attackers than are trimmed": "#f3d9b1",
    "attackers may turn a coordinate": "#f7ecc0",
    "attacked coordinates hardly learn": "#dfe3e8",
    "every risk as low as asked": "#a9d3ae",
}


def draw_region(advice: Advice, path: Path) -> Path:
    """Write the map into a file and return where."""
    return save(region_figure(advice), Path(path))


def region_figure(advice: Advice) -> Any:
    """Return the map."""
    federation = advice.federation
    figure = new_figure(8.8, 4.6)
    axes = figure.subplots()
    _cells(figure, axes, advice)
    _mark(axes, advice)
    axes.set(xlim=(0, 0.5), ylim=(0, 1.02))
    axes.set_xlabel("α, share trimmed at each end")
    axes.set_ylabel("τ, agreement of signs needed")
    figure.suptitle(
        f"{federation.n_per_round} of {federation.n_clients} clients per round, {federation.n_malicious}"
        f" malicious, {federation.n_rounds} rounds; flips {federation.flip:g}, risk {percent(advice.risk)}",
        fontsize=10,
    )
    return figure


def _cells(figure: Any, axes: Any, advice: Advice) -> None:
    """Colour all settings; those with the same counts are one cell: alpha in ((k - 1) / n, k / n], so tau."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    n, most = advice.federation.n_per_round, advice.federation.most_trimmed
    # A little more, so that a setting on the edge of its cell, as k / n is, is seen to lie inside.
    alphas = (np.arange(-1, most + 1) + 0.2) / n
    alphas[-1] = 0.5
    taus = (n - 2 * np.arange(n // 2 + 2) + 0.4) / n
    colors = ListedColormap(list(FLAWS.values()))
    axes.pcolormesh(
        alphas, taus, _flaws(advice), cmap=colors, vmin=0, vmax=len(FLAWS) - 1, ec="white", lw=0.4
    )
    handles = [Patch(color=color, label=name) for name, color in FLAWS.items()]
    figure.legend(handles=handles, loc="outside right center", frameon=False, fontsize=9)

    above = axes.secondary_xaxis("top")
    shown = range(1, most + 1, -(-most // 10))  # all, or as many as can be read
    more = advice.federation.chance_ever(advice.federation.chance_of_more(np.arange(most + 1)))
    above.set_xticks(
        [(max(0.0, alphas[k]) + alphas[k + 1]) / 2 for k in shown], [percent(more[k]) for k in shown]
    )
    above.tick_params(length=0, labelsize=8)
    above.set_xlabel("chance that some round draws more attackers than are trimmed", fontsize=9)


def _flaws(advice: Advice) -> NDArray[np.int64]:
    """Return for each (against, trimmed) the worst that is wrong with it, as an index into FLAWS."""
    federation = advice.federation
    trimmed = np.arange(federation.most_trimmed + 1)
    against = np.arange(federation.n_per_round // 2 + 1)[:, np.newaxis]
    more = federation.chance_ever(federation.chance_of_more(trimmed)) > advice.risk
    turned = federation.chance_ever(np.cumsum(federation.against[::-1]).clip(0, 1))[against] > advice.risk
    idle = against < federation.typical_attackers
    return np.select([against > trimmed, more, turned, idle], range(4), default=4)


def _mark(axes: Any, advice: Advice) -> None:
    beside: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "fontsize": 9}
    for names, found in advice.published_by_settings.items():
        axes.plot(found.alpha, found.tau, "o", color=AGGREGATE, ms=6)
        axes.annotate(", ".join(names).replace("_", " "), (found.alpha, found.tau), (-7, 5), **beside)
    best = advice.recommended
    text = f"advice: τ={best.tau:g}, α={best.alpha:g}" + (
        "" if advice.within_risk else "\n(the best there is, above the risk)"
    )
    axes.plot(
        best.alpha, best.tau, "*", color=BENIGN if advice.within_risk else MALICIOUS, mec="white", ms=17
    )
    axes.annotate(text, (best.alpha, best.tau), (-11, -3), va="top", weight="bold", **beside)
