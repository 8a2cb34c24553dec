"""The figures of the paper that the theory explains, its formulas, and maps of the adviser."""

from pathlib import Path
from typing import Any

import numpy as np

from .. import theory
from ..aggregators import fltrust, invariant, median
from .advice_figure import region_figure
from .landscapes import landscapes
from .plotting import AGGREGATE, BENIGN, MALICIOUS, MUTED, arrow, label, new_figure, save, without_frame

__all__ = ["draw_theory", "failures", "fltrust_curve", "printed_and_exact"]

#: The round that formulas are drawn for, over these chances of a flip.
ROUND: dict[str, Any] = {"n_clients": 20, "n_attackers": 4}
FLIPS = np.linspace(0.001, 0.4, 200)


def draw_theory(folder: Path) -> list[Path]:
    """Write all figures into the folder and return where they are."""
    figures = {
        "f1-landscapes": landscapes(),
        "f2-failures": failures(),
        "f3-fltrust": fltrust_curve(),
        "printed-and-exact": printed_and_exact(),
        "advice-cifar10": region_figure(
            theory.advise(n_clients=100, n_per_round=20, n_malicious=20, n_rounds=300)
        ),
        "advice-twitter": region_figure(
            theory.advise(n_clients=100, n_per_round=15, n_malicious=10, n_rounds=300)
        ),
    }
    return [save(figure, Path(folder) / f"{name}.png") for name, figure in figures.items()]


def failures() -> Any:
    """Return figure 2: FLTrust in two dimensions and the median in one, each turned by attackers."""
    figure = new_figure(10, 3.6)
    left, right = figure.subplots(1, 2, width_ratios=(1, 1.5))
    _fltrust_failure(left)
    _median_failure(right)
    return figure


def _fltrust_failure(axes: Any) -> None:
    theta = 0.45 * np.pi
    attack = theory.fltrust_best_angle(theta)
    benign = np.array([-np.cos(theta), np.sin(theta)])
    attacker = np.array([np.cos(attack), np.sin(attack)])
    aggregate = fltrust(np.stack([benign, attacker]), reference=benign).update
    axes.axvline(0, color=MUTED, lw=0.8, ls=":")
    for vector, color in ((benign, BENIGN), (attacker, MALICIOUS), (aggregate, AGGREGATE)):
        arrow(axes, (0, 0), vector, color)
    label(
        axes, benign, "honest client,\nand the server's\nown update", BENIGN, side="right", by=(-0.05, -0.25)
    )
    text = f"attacker, trusted\nwith {benign @ attacker:.2f}"
    label(axes, attacker, text, MALICIOUS, side="left", by=(0.04, 0))
    label(axes, aggregate, "FLTrust", AGGREGATE, side="left", by=(0.02, 0.08))
    axes.set(xlim=(-0.85, 1.3), ylim=(-0.08, 1.15), aspect="equal", xticks=[], yticks=[])
    axes.set_xlabel("flat direction: honest to the left")
    axes.set_title("(a) FLTrust follows the attacker\nin the flat direction", fontsize=10)


def _median_failure(axes: Any) -> None:
    honest, flipped, attackers = [0.3, 0.2, 0.04], [-0.05, -0.05], [-0.5, -0.5]
    updates = np.array(honest + flipped + attackers)[:, np.newaxis]
    middle, held = median(updates).update[0], invariant(updates, tau=0.2, alpha=0.25).update[0]
    axes.axhline(0, color=MUTED, lw=0.8, zorder=1)
    axes.axvline(0, color=MUTED, lw=0.8, ls=":", zorder=1)
    for values, inside, color, marker, name in (
        (honest, BENIGN, BENIGN, "o", "honest"),
        (flipped, "white", BENIGN, "o", "honest, sign flipped by noise"),
        (attackers, MALICIOUS, MALICIOUS, "X", "attackers"),
    ):
        # Equal values stand one above the other.
        heights = [0.11 * values[:i].count(value) for i, value in enumerate(values)]
        axes.scatter(values, heights, s=70, c=inside, edgecolors=color, marker=marker, label=name, zorder=3)
    arrow(axes, (middle, -0.32), (0, 0.26), MALICIOUS)
    label(axes, (middle, -0.4), f"median: {middle:g}", MALICIOUS)
    arrow(axes, (held, 0.42), (0, -0.38), BENIGN)
    label(axes, (held, 0.52), f"invariant: {held:g}\nfour against three is no agreement", BENIGN)
    axes.set(xlim=(-0.62, 0.45), ylim=(-0.55, 1.0), yticks=[])
    axes.set_xlabel("update of one coordinate, seven clients")
    axes.legend(loc="upper center", ncols=3, frameon=False, fontsize=9, handletextpad=0.2, columnspacing=1.0)
    axes.set_title(
        "(b) Two flipped signs hand the median to two attackers;\ninvariant stays at 0", fontsize=10
    )
    without_frame(axes, "left")


def fltrust_curve() -> Any:
    """Return figure 3: what an attacker can win against FLTrust, searched and in closed form."""
    figure = new_figure(6.2, 4)
    axes = figure.subplots()
    theta = np.linspace(0, np.pi / 2, 241)
    tried = theory.fltrust_advantage(theta[:, np.newaxis], np.linspace(0, np.pi / 2, 721)).max(axis=1)
    exact = theory.fltrust_best_advantage(theta)
    turning = theory.FLTRUST_THRESHOLD / np.pi
    axes.axhline(0, color=MUTED, lw=0.8)
    axes.axvspan(turning, 0.5, color=MALICIOUS, alpha=0.12, lw=0)
    axes.plot(theta / np.pi, exact, color=AGGREGATE, label="closed form, ½ − 1.5 cos θ")
    some = slice(None, None, 12)
    axes.plot(
        theta[some] / np.pi,
        tried[some],
        "o",
        ms=4.5,
        mfc="white",
        color=BENIGN,
        label="best of 721 angles tried",
    )
    arrow(axes, (0.26, 0.22), (turning - 0.26, -0.22), AGGREGATE)
    label(axes, (0.2, 0.3), f"cos θ = 1/3, θ = {turning:.4f} π\n(the paper reads 0.4 π)", AGGREGATE)
    axes.text(0.446, -0.6, "attacker\nsets the\ndirection", color=MALICIOUS, ha="center", fontsize=9)
    axes.set(xlim=(0, 0.5), ylim=(-1.05, 0.6))
    axes.set_xlabel("angle θ between the honest update and the flat axis, in π")
    axes.set_ylabel("most the attacker can win along the axis")
    axes.legend(loc="lower left", bbox_to_anchor=(0.02, 0.42), frameon=False, fontsize=9)
    without_frame(axes)
    return figure


def printed_and_exact() -> Any:
    """Return p- and p+ over the chance of a flip, as printed and exact; 20 clients, 4 attackers."""
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
