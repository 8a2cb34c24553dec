"""The paper's single-dimension formulas beside the exact ones."""

from typing import Any

import numpy as np

from .. import theory
from .plotting import AGGREGATE, BENIGN, MALICIOUS, MUTED, new_figure, without_frame

__all__ = ["printed_and_exact"]

ROUND: dict[str, Any] = {"n_clients": 20, "n_attackers": 4}
FLIPS = np.linspace(0.001, 0.4, 200)


def printed_and_exact() -> Any:
    """Return p- and p+ over the chance of a flip, as printed and exact; 20 clients, 4 attackers.

    >>> len(printed_and_exact().axes)
    2
    """
    figure = new_figure(10, 3.8)
    left, right = figure.subplots(1, 2)
    _honest_way(left)
    _attackers_way(right)
    for axes in figure.axes:
        axes.set(xlim=(0, 0.4), xlabel="chance p that noise flips an honest sign")
        axes.legend(frameon=False, fontsize=9)
        axes.title.set_fontsize(10)
        without_frame(axes)
    return figure


def _honest_way(axes: Any) -> None:
    masked, middle = theory.invariant_rule(20, tau=0.5, alpha=0.25), theory.median_rule(20)
    printed = theory.printed_p_minus(FLIPS, **ROUND, alpha=0.25)
    axes.axhspan(1, 2.1, color=MUTED, alpha=0.2, lw=0)
    axes.text(0.2, 1.25, "above 1: not a probability", ha="center", color="#5f646b", fontsize=9)
    axes.plot(FLIPS, printed, color=BENIGN, ls="--", lw=1.2, label="invariant and trimmed mean, as printed")
    axes.plot(FLIPS, _exact(masked).p_minus, color=BENIGN, label="invariant and trimmed mean, exact")
    axes.plot(FLIPS, _exact(middle).p_minus, color=AGGREGATE, label="median, exact")
    axes.set(ylim=(0, 2.1), ylabel="p−", title="An attacked coordinate moves the honest way, at least")


def _attackers_way(axes: Any) -> None:
    trimmed = theory.printed_p_plus_trimmed_mean(FLIPS, **ROUND, alpha=0.25)
    masked = theory.printed_p_plus_invariant(FLIPS, **ROUND, tau=0.5)
    axes.semilogy(
        FLIPS, _exact(theory.trimmed_mean_rule(20, alpha=0.25)).p_plus, color=MALICIOUS, label="trimmed mean"
    )
    axes.semilogy(FLIPS, trimmed, color=MALICIOUS, ls="--", lw=1.2)
    axes.semilogy(FLIPS, _exact(theory.median_rule(20)).p_plus, color=AGGREGATE, label="median")
    axes.semilogy(
        FLIPS, _exact(theory.invariant_rule(20, tau=0.5, alpha=0.25)).p_plus, color=BENIGN, label="invariant"
    )
    axes.semilogy(FLIPS, masked, color=BENIGN, ls="--", lw=1.2)
    axes.plot([], [], color=MUTED, ls="--", lw=1.2, label="as printed")
    axes.set(
        ylim=(1e-16, 3), ylabel="p+", title="An attacked coordinate may move the attackers' way, at most"
    )


def _exact(rule: theory.SignRule) -> theory.Chances:
    return theory.one_dimension(rule, n_attackers=ROUND["n_attackers"], flip=FLIPS)
