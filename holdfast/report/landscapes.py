"""Figure 1 of the paper: why a flat loss makes backdoors easy. Drawn losses, but their true gradients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .plotting import AGGREGATE, BENIGN, MALICIOUS, MUTED, arrow, label, new_figure

__all__ = ["landscapes"]

Array = NDArray[np.float64]

NOW = np.array([0.0, 0.0])
BENIGN_MINIMA = np.array([[-2.3, -1.5], [-1.7, -2.2], [-0.9, -2.0], [-1.0, -1.2], [-1.7, -1.1]])
BENIGN_CENTRE = np.array([-1.5, -1.6])
MALICIOUS_MINIMUM = np.array([2.2, -0.7])
#: Curvature of each loss along the two axes: the honest one is flat sideways, the other downwards.
BENIGN_CURVATURE, MALICIOUS_CURVATURE = np.array([0.12, 1.0]), np.array([1.0, 0.12])


def landscapes() -> Any:
    """Return figure 1: the minima, an honest client's loss, a malicious client's loss."""
    figure = new_figure(11, 3.05)
    overview, benign, malicious = figure.subplots(1, 3)
    _overview(overview)
    _benign(benign)
    _malicious(malicious)
    for axes in figure.axes:
        axes.set(xlim=(-3.1, 3.1), ylim=(-3.0, 1.2), xticks=[], yticks=[], aspect="equal")
        axes.plot(*NOW, "o", color=AGGREGATE, ms=6, zorder=5)
        axes.annotate("now, w", NOW, (6, 6), textcoords="offset points", color=AGGREGATE)
    return figure


def _overview(axes: Any) -> None:
    axes.set_title("(a) Honest minima and the backdoor's\nlie on different sides", fontsize=10)
    axes.axvline(0, color=MUTED, lw=0.8, ls=":")
    axes.fill(*BENIGN_MINIMA.T, color=BENIGN, alpha=0.15, lw=0)
    axes.plot(*BENIGN_MINIMA.T, "o", color=BENIGN, ms=5)
    axes.plot(*MALICIOUS_MINIMUM, "*", color=MALICIOUS, ms=12)
    arrow(axes, NOW, 0.55 * BENIGN_CENTRE, BENIGN)
    arrow(axes, NOW, 0.55 * MALICIOUS_MINIMUM, MALICIOUS)
    label(axes, (-1.5, -2.6), "honest clients' minima\nand their hull W*", BENIGN)
    label(axes, (2.2, -1.2), "backdoor's\nminimum w'", MALICIOUS)


def _benign(axes: Any) -> None:
    axes.set_title("(b) An honest loss is flat sideways:\none attacker turns the mean there", fontsize=10)
    _contours(axes, BENIGN_CENTRE, BENIGN_CURVATURE, BENIGN)
    honest, attack = _both_steps(axes)
    mean = (honest + attack) / 2
    arrow(axes, NOW, mean, AGGREGATE)
    label(axes, mean, "their mean", AGGREGATE, side="left", by=(0.1, -0.2))


def _malicious(axes: Any) -> None:
    axes.set_title(
        "(c) The attacker's loss is flat downwards:\nlooking honest there costs it little", fontsize=10
    )
    _contours(axes, MALICIOUS_MINIMUM, MALICIOUS_CURVATURE, MALICIOUS)
    honest, attack = _both_steps(axes)
    mimic = np.array([attack[0], honest[1]])
    arrow(axes, NOW, mimic, MALICIOUS, dashed=True)
    label(axes, mimic, "attacker, mimicking", MALICIOUS, by=(0, -0.25))


def _both_steps(axes: Any) -> tuple[Array, Array]:
    """Draw what an honest client and an attacker would do on their own, and return it."""
    honest = _step(BENIGN_CENTRE, BENIGN_CURVATURE)
    attack = _step(MALICIOUS_MINIMUM, MALICIOUS_CURVATURE)
    arrow(axes, NOW, honest, BENIGN)
    arrow(axes, NOW, attack, MALICIOUS)
    label(axes, honest, "honest", BENIGN, side="right", by=(-0.1, -0.15))
    label(axes, attack, "attacker", MALICIOUS, side="left", by=(0.1, 0.0))
    return honest, attack


def _step(minimum: Array, curvature: Array) -> Array:
    """Return one step down the client's own quadratic loss."""
    return np.asarray(0.75 * curvature * (minimum - NOW))


def _contours(axes: Any, minimum: Array, curvature: Array, color: str) -> None:
    x, y = np.meshgrid(np.linspace(-3.1, 3.1, 200), np.linspace(-3.0, 1.2, 150))
    loss = curvature[0] * (x - minimum[0]) ** 2 + curvature[1] * (y - minimum[1]) ** 2
    axes.contour(
        x,
        y,
        loss,
        levels=[0.15, 0.6, 1.4, 2.6, 4.2],
        colors=color,
        linewidths=0.8,
        linestyles="--",
        alpha=0.55,
    )
