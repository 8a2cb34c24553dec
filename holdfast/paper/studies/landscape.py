"""Figure 4 of the paper: how the honest loss rises from a minimum, towards the backdoor and at random."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ...lab.scenario import Run
from .clean import probe_clean_run

if TYPE_CHECKING:
    from ...lab.trained import Probe

__all__ = ["Landscape", "Slope", "landscape"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Slope:
    """The honest loss from one minimum, at each distance.

    `exposure` is the share of the edge-case pool that honest clients held, with correct labels, when the
    minimum was trained.
    """

    exposure: float
    malicious: tuple[float, ...]
    random: tuple[float, ...]  # the mean of several directions
    attack_success: tuple[float, ...]  # along the malicious direction
    unit: float  # the norm of the malicious gradient, which distances are counted in
    n_edge: int  # edge cases among the honest examples
    n_honest: int
    accuracy: float  # at the minimum
    honest_gradient: float  # its norm there: how near the minimum is

    @property
    def rise(self) -> float:
        """How far the loss rises along the malicious direction, on average over the distances."""
        return float(np.mean(self.malicious) - self.malicious[0])

    @property
    def random_rise(self) -> float:
        """The same along the random directions."""
        return float(np.mean(self.random) - self.random[0])


@dataclass(frozen=True)
class Landscape:
    """The slopes of one seed, by exposure."""

    direction: str
    distances: tuple[float, ...]  # in norms of the malicious gradient
    slopes: tuple[Slope, ...]

    @property
    def ordered(self) -> bool:
        """Whether the loss rises less, the fewer edge cases honest clients hold."""
        rises = [slope.rise for slope in sorted(self.slopes, key=lambda slope: slope.exposure)]
        return rises == sorted(rises)


def landscape(
    run: Run,
    folder: Path | None = None,
    *,
    direction: Literal["gradient", "update"] = "gradient",
    exposures: tuple[float, ...] = (0.0, 0.15, 0.3),
    reach: float = 0.03,
    n_points: int = 21,
    n_random: int = 3,
) -> Landscape:
    """Return how the loss on honest examples rises in the direction that attackers push a clean minimum.

    That is the descent on the poisoned examples of all attackers ("gradient"), or the mean of what they would
    send after local training ("update"). Random directions have the same length.
    """
    check_whole("n_points", n_points, at_least=2)
    check_whole("n_random", n_random, at_least=1)
    if not 0 < reach < float("inf") or direction not in ("gradient", "update"):
        raise InputError(
            "reach must be a finite number above 0 and direction 'gradient' or 'update';"
            f" got {reach!r} and {direction!r}"
        )
    distances = np.linspace(0, reach, n_points)
    probes = (probe_clean_run(run, folder, exposure=exposure) for exposure in exposures)
    slopes = tuple(_slope(probe, direction, distances, n_random) for probe in probes)
    return Landscape(direction, tuple(distances.tolist()), slopes)


def _slope(probe: "Probe", direction: str, distances: Array, n_random: int) -> Slope:
    honest = probe.honest_examples(probe.honest)
    if direction == "gradient":
        way = -probe.gradient(probe.poisoned_examples(probe.malicious))
    else:
        way = probe.train_clients(probe.malicious, attacking=True).updates.mean(axis=0, dtype=np.float64)

    def along(way: Array) -> tuple[float, ...]:
        return tuple(probe.loss(probe.params + distance * way, honest) for distance in distances)

    rng = np.random.default_rng(probe.world.run.seed)
    unit = float(np.linalg.norm(way))
    drawn = rng.normal(size=(n_random, way.size))
    drawn *= unit / np.linalg.norm(drawn, axis=1, keepdims=True)
    edge = probe.edge_cases()
    return Slope(
        exposure=probe.world.run.attack.exposure,
        malicious=along(way),
        random=tuple(np.mean([along(one) for one in drawn], axis=0).tolist()),
        attack_success=tuple(
            probe.accuracy_and_success(probe.params + distance * way)[1] for distance in distances
        ),
        unit=unit,
        n_edge=0 if edge is None else len(edge[1]),
        n_honest=len(honest[1]),
        accuracy=probe.accuracy_and_success(probe.params)[0],
        honest_gradient=float(np.linalg.norm(probe.gradient(honest))),
    )
