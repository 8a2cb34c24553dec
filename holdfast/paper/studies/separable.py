"""The separable minima of the paper: does a backdoor lie within what honest clients mix to?"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...buffers import combined_buffers
from ...errors import InputError
from ...lab.scenario import Run
from ...lab.training import Trained
from .clean import probe_clean_run
from .hull import nearest_in_hull

if TYPE_CHECKING:
    from ...lab.probe import Probe

__all__ = ["Separation", "separable_minima"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Separation:
    """How far models lie from the hull of honest ones, and what the hull's points answer to the backdoor.

    In so many dimensions any further model lies outside the hull of a few, an honest one too. So the
    malicious distance is to be held against the `left_out` ones: each honest model's, from the others' hull.
    """

    malicious: float
    left_out: tuple[float, ...]
    diameter: float  # of the hull: the largest distance of two honest models
    weights: tuple[float, ...]  # of the hull's point nearest to the malicious model
    malicious_success: float
    honest_success: tuple[float, ...]
    mixed_success: tuple[float, ...]  # of random points of the hull
    mixed_accuracy: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The malicious distance in those of the honest models left out, by their mean."""
        return self.malicious / float(np.mean(self.left_out))


def separable_minima(
    run: Run, folder: Path | None = None, *, n_benign: int = 5, n_combinations: int = 1000
) -> Separation:
    """Return whether one round of local training leads an attacker out of the hull of honest clients' models.

    All start from the model of a clean run. The hull's points are drawn evenly.

    >>> from holdfast.lab.choices import build_run
    >>> tiny = build_run("digits", attack="edge-case", scale="smoke")
    >>> len(separable_minima(tiny, n_benign=3, n_combinations=2).left_out)
    3
    """
    check_whole("n_benign", n_benign, at_least=2, at_most=12)
    check_whole("n_combinations", n_combinations, at_least=1)
    probe = probe_clean_run(run, folder)
    if len(probe.honest) < n_benign:
        raise InputError(f"n_benign={n_benign} honest clients are needed; this run has {len(probe.honest)}")
    benign = probe.train_clients(probe.honest[:n_benign])
    attacker = probe.train_clients(probe.malicious[:1], attacking=True)
    rows = benign.updates.astype(np.float64)
    nearest = nearest_in_hull(attacker.updates[0], rows)
    others = [np.delete(rows, i, axis=0) for i in range(n_benign)]
    mixed = _mixed_shares(probe, benign, n_combinations)
    return Separation(
        malicious=nearest.distance,
        left_out=tuple(nearest_in_hull(*pair).distance for pair in zip(rows, others, strict=True)),
        diameter=max(float(np.linalg.norm(a - b)) for a in rows for b in rows),
        weights=tuple(nearest.weights.tolist()),
        malicious_success=_shares(probe, attacker, np.ones(1))[1],
        honest_success=tuple(_shares(probe, benign, one)[1] for one in np.eye(n_benign)),
        mixed_success=tuple(success for _, success in mixed),
        mixed_accuracy=tuple(accuracy for accuracy, _ in mixed),
    )


def _mixed_shares(probe: "Probe", benign: Trained, count: int) -> list[tuple[float, float]]:
    rng = np.random.default_rng(probe.world.run.seed)
    return [_shares(probe, benign, mix) for mix in rng.dirichlet(np.ones(len(benign.updates)), size=count)]


def _shares(probe: "Probe", sent: Trained, weights: Array) -> tuple[float, float]:
    """Return accuracy and attack success of a mixture of models, their buffers mixed alike."""
    buffers: Mapping[str, Array] | None = None
    if sent.buffers:
        buffers = combined_buffers(sent.buffers, base=probe.buffers, weights=weights, averaged=True)
    return probe.accuracy_and_success(probe.params + weights @ sent.updates, buffers)
