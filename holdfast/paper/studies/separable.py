"""The separable minima of the paper: does a backdoor lie within what honest clients mix to?"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...aggregators.buffers import combined_buffers
from ...errors import InputError
from ...lab.scenario import Run
from ...lab.training import Trained
from .clean import probe_clean_run

if TYPE_CHECKING:
    from ...lab.trained import Probe

__all__ = ["Separation", "nearest_in_hull", "separable_minima"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Separation:
    """How far models lie from the hull of honest ones, and what the hull's points answer to the backdoor.

    In so many dimensions any further model lies outside the hull of a few, an honest one too. So compare the
    malicious distance with the `left_out` ones: each honest model's, from the others' hull.
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
        """The malicious distance, divided by the mean distance of an honest model left out."""
        return self.malicious / float(np.mean(self.left_out))


def separable_minima(
    run: Run, folder: Path | None = None, *, n_benign: int = 5, n_combinations: int = 1000
) -> Separation:
    """Return whether one round of local training leads an attacker out of the hull of honest clients' models.

    All start from the model of a clean run. The hull's points are drawn evenly.
    """
    check_whole("n_benign", n_benign, at_least=2, at_most=12)  # all faces of the hull are tried: 2 ** n
    check_whole("n_combinations", n_combinations, at_least=1)
    probe = probe_clean_run(run, folder)
    if len(probe.honest) < n_benign:
        raise InputError(f"n_benign={n_benign} honest clients are needed; this run has {len(probe.honest)}")
    benign = probe.train_clients(probe.honest[:n_benign])
    attacker = probe.train_clients(probe.malicious[:1], attacking=True)
    rows = benign.updates.astype(np.float64)
    weights, malicious = nearest_in_hull(attacker.updates[0].astype(np.float64), rows)
    others = [np.delete(rows, i, axis=0) for i in range(n_benign)]
    rng = np.random.default_rng(probe.world.run.seed)
    mixtures = rng.dirichlet(np.ones(n_benign), size=n_combinations)
    mixed = [_accuracy_and_success(probe, benign, mix) for mix in mixtures]
    return Separation(
        malicious=malicious,
        left_out=tuple(nearest_in_hull(*pair)[1] for pair in zip(rows, others, strict=True)),
        diameter=max(float(np.linalg.norm(a - b)) for a in rows for b in rows),
        weights=tuple(weights.tolist()),
        malicious_success=_accuracy_and_success(probe, attacker, np.ones(1))[1],
        honest_success=tuple(_accuracy_and_success(probe, benign, one)[1] for one in np.eye(n_benign)),
        mixed_success=tuple(success for _, success in mixed),
        mixed_accuracy=tuple(accuracy for accuracy, _ in mixed),
    )


def _accuracy_and_success(probe: "Probe", sent: Trained, weights: Array) -> tuple[float, float]:
    """Return accuracy and attack success of a mixture of models, their buffers mixed alike."""
    buffers: Mapping[str, Array] | None = None
    if sent.buffers:
        buffers = combined_buffers(sent.buffers, base=probe.buffers, weights=weights, averaged=True)
    return probe.accuracy_and_success(probe.params + weights @ sent.updates, buffers)


def nearest_in_hull(point: Array, corners: Array) -> tuple[Array, float]:
    """Return the point of the hull of a few rows that is nearest, as weights of the rows, and how far it is.

    On each face the nearest point of the plane through it is found; it counts if it lies in the face.
    """
    away = corners - point
    gram = away @ away.T
    best, least = np.zeros(len(away)), np.inf
    for size in range(1, len(away) + 1):
        for face in combinations(range(len(away)), size):
            weights = np.zeros(len(away))
            weights[list(face)] = _in_plane(gram[np.ix_(face, face)])
            distance = float(np.linalg.norm(weights @ away))
            if weights.min() >= 0 and distance < least:
                best, least = weights, distance
    return best, least


def _in_plane(gram: Array) -> Array:
    """Return the weights, adding up to one, of the point nearest to zero in the plane of some corners.

    A face whose corners lie in a smaller plane has many; those with few corners are found on their own.
    """
    n = len(gram)
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = gram / (gram.diagonal().max() or 1.0), 0
    weights: Array = np.linalg.lstsq(system, np.eye(n + 1)[n], rcond=None)[0][:n]
    total = weights.sum()
    return weights / total if total else np.full(n, -1.0)
