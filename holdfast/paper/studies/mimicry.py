"""Figure 5 of the paper: few entries of a malicious gradient are large; the others may look honest."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...lab.scenario import Run
from .clean import probe_clean_run

if TYPE_CHECKING:
    from ...lab.trained import Probe

__all__ = ["PAPER_SHARE", "Histogram", "Mimicry", "Point", "gradient_histogram", "mimic", "mimicry"]

Array = NDArray[Any]

#: The paper keeps 1000 entries of a ResNet-18's.
PAPER_SHARE = 1000 / 11_689_512


@dataclass(frozen=True)
class Histogram:
    """How large the entries of what one attacker sends are."""

    n_entries: int
    largest: float
    edges: tuple[float, ...]  # of the bins, from -largest to largest
    counts: tuple[int, ...]
    zoom_edges: tuple[float, ...]
    zoom_counts: tuple[int, ...]
    share_above: dict[str, float]  # [threshold] of all entries, by magnitude; "1/10" is of the largest
    share_of_half: float  # of the entries, the largest, that make half of the squared norm


@dataclass(frozen=True)
class Point:
    """What comes of keeping so many entries."""

    n_kept: int
    cosine: float  # between the honest update and the one that mimics it
    slowdown: float  # of the attackers' progress on their poisoned examples, as a share; 1 is a standstill


@dataclass(frozen=True)
class Mimicry:
    """What looking honest costs attackers, by how many entries they keep; means over pairs of clients."""

    n_entries: int
    n_pairs: int
    cosine: float  # without mimicry
    length: float  # of the malicious update, in lengths of the honest one
    at_paper_share: Point
    points: tuple[Point, ...]

    @property
    def claimed(self) -> tuple[Point, ...]:
        """Those that come to what the paper says: a cosine above .95 at a slowdown under 10 %."""
        return tuple(point for point in self.points if point.cosine > 0.95 and point.slowdown < 0.1)


def gradient_histogram(run: Run, folder: Path | None = None, *, n_bins: int = 101) -> Histogram:
    """Return how the entries of an attacker's update to the trained clean model are distributed."""
    probe = probe_clean_run(run, folder)
    return histogram_of(probe.train_clients(probe.malicious[:1], attacking=True).updates[0], n_bins=n_bins)


def histogram_of(update: Array, *, n_bins: int) -> Histogram:
    """Return how the entries of a vector are distributed; the zoom is to a hundredth of the largest."""
    check_whole("n_bins", n_bins, at_least=1)
    sizes = np.abs(update.astype(np.float64))
    largest = float(sizes.max())
    counts, edges = np.histogram(update, bins=n_bins, range=(-largest, largest))
    zoom_counts, zoom_edges = np.histogram(update, bins=n_bins, range=(-largest / 100, largest / 100))
    carried = np.cumsum(np.sort(sizes)[::-1] ** 2)
    thresholds = {"0.01": 0.01, "0.001": 0.001, "1/10": largest / 10, "1/100": largest / 100}
    return Histogram(
        n_entries=update.size,
        largest=largest,
        edges=tuple(edges.tolist()),
        counts=tuple(counts.tolist()),
        zoom_edges=tuple(zoom_edges.tolist()),
        zoom_counts=tuple(zoom_counts.tolist()),
        share_above={name: float((sizes > threshold).mean()) for name, threshold in thresholds.items()},
        share_of_half=float((np.searchsorted(carried, carried[-1] / 2) + 1) / update.size),
    )


def mimic(malicious: Array, benign: Array, *, n_kept: int) -> Array:
    """Return the malicious vector with all but its largest entries overwritten by the benign one's."""
    check_whole("n_kept", n_kept, at_least=0, at_most=malicious.size)
    kept = np.argsort(-np.abs(malicious), kind="stable")[:n_kept]
    mixed = benign.copy()
    mixed[kept] = malicious[kept]
    return mixed


def mimicry(
    run: Run, folder: Path | None = None, *, n_kept: tuple[int, ...] = (), n_pairs: int = 5
) -> Mimicry:
    """Return what it costs attackers to take all but `n_kept` entries from an honest client's update.

    Without `n_kept`, numbers from 1 to all entries are tried; that of the paper's share always is.
    """
    check_whole("n_pairs", n_pairs, at_least=1)
    probe = probe_clean_run(run, folder)
    dim, n_pairs = probe.params.size, min(n_pairs, len(probe.malicious), len(probe.honest))
    attackers = probe.malicious[:n_pairs]
    malicious = probe.train_clients(attackers, attacking=True).updates
    benign = probe.train_clients(probe.honest[:n_pairs]).updates
    paper = max(1, round(PAPER_SHARE * dim))
    wanted = sorted({*(n_kept or np.geomspace(1, dim, 17).round().astype(int).tolist())})

    def point(kept: int) -> Point:
        mixed = [mimic(bad, good, n_kept=kept) for bad, good in zip(malicious, benign, strict=True)]
        progress = _progress(probe, attackers, mixed)
        return Point(kept, _cosine(benign, mixed), 1 - progress / whole)

    whole = _progress(probe, attackers, list(malicious))
    lengths = np.linalg.norm(malicious, axis=1) / np.linalg.norm(benign, axis=1)
    points = tuple(point(kept) for kept in wanted)
    cosine = _cosine(benign, list(malicious))
    return Mimicry(dim, n_pairs, cosine, float(lengths.mean()), point(paper), points)


def _progress(probe: "Probe", attackers: Sequence[int], updates: Sequence[Array]) -> float:
    """Return how far the loss on the attackers' poisoned examples falls by each's update, all added up."""
    fallen = 0.0
    for attacker, update in zip(attackers, updates, strict=True):
        poisoned = probe.poisoned_examples([attacker])
        fallen += probe.loss(probe.params, poisoned) - probe.loss(probe.params + update, poisoned)
    return fallen


def _cosine(first: Any, second: Any) -> float:
    """Return the mean cosine of pairs of rows."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    dots = (a * b).sum(axis=1)
    return float((dots / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))).mean())
