"""A study's part of the document: its numbers over the seeds, and its figures as files."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from ..errors import DataError
from ..paper.studies import measured, stored
from .plotting import save
from .study_figures import histogram_figure, landscape_figure, mimicry_figure, separation_figure

__all__ = ["STUDIES", "is_stored", "make"]

Found = Mapping[str, Sequence[Any]]
Part = dict[str, Any]


def make(
    name: str,
    folder: Path,
    *,
    scale: str = "cpu",
    seeds: Iterable[int] = range(3),
    task: str = "digits",
    figures: Path | None = None,
) -> Part:
    """Return the figures and numbers of a study; what is not in the folder yet is made.

    The pictures go into `figures`, or else beside the results, as PNG and SVG.

    >>> import tempfile
    >>> part = make("figure5", Path(tempfile.mkdtemp()), scale="smoke", seeds=[0])
    >>> [figure["name"] for figure in part["figures"]]
    ['figure5', 'mimicry']
    """
    given = list(seeds)
    found = measured(name, folder, scale=scale, seeds=given, task=task)
    drawn, numbers = STUDIES[name]
    where = folder / "figures" if figures is None else figures
    made = []
    for own, (figure, caption) in drawn(found).items():
        stem = where / f"{own}-{task}-{scale}"
        files = {kind: str(save(figure, stem.with_name(f"{stem.name}.{kind}"))) for kind in ("png", "svg")}
        made.append({"name": own, "caption": f"{caption} Task {task}, scale {scale}.", "files": files})
    settings = {"task": task, "scale": scale, "seeds": given}
    return {"figures": made, "studies": {**settings, **numbers(found)}}


def is_stored(
    name: str, folder: Path, *, scale: str = "cpu", seeds: Iterable[int] = range(3), task: str = "digits"
) -> bool:
    """Return whether all that a study is made of lies in the folder.

    >>> is_stored("figure5", Path("nowhere"))
    False
    """
    try:
        stored(name, folder, scale=scale, seeds=seeds, task=task)
    except DataError:
        return False
    return True


def _landscapes(found: Found) -> dict[str, tuple[Any, str]]:
    ways = {"landscape": "down the poisoned loss", "landscape_of_updates": "along the attackers' mean update"}
    text = "Loss on honest examples from a clean minimum, {}, by how much of the edge-case pool they hold."
    names = {"landscape": "figure4", "landscape_of_updates": "figure4-updates"}
    return {names[own]: (landscape_figure(found[own]), text.format(way)) for own, way in ways.items()}


def _landscape_numbers(found: Found) -> Part:
    """Return the mean rise of the loss by exposure, a number a seed, and in how many seeds it is ordered."""
    parts: Part = {}
    for own, studies in found.items():
        slopes = list(zip(*(study.slopes for study in studies), strict=True))
        parts[own] = {
            "rise": {f"{own[0].exposure:g}": [slope.rise for slope in own] for own in slopes},
            "random_rise": {f"{own[0].exposure:g}": [slope.random_rise for slope in own] for own in slopes},
            "n_edge": {f"{own[0].exposure:g}": own[0].n_edge for own in slopes},
            "n_seeds_ordered": sum(study.ordered for study in studies),
            "n_seeds_unexposed_flattest": sum(
                study.slopes[0].rise == min(slope.rise for slope in study.slopes) for study in studies
            ),
            "reach": studies[0].distances[-1],
        }
    return parts


def _gradients(found: Found) -> dict[str, tuple[Any, str]]:
    return {
        "figure5": (histogram_figure(found["gradient_histogram"][0]), "Entries of an attacker's update."),
        "mimicry": (mimicry_figure(found["mimicry"]), "What looking honest gains and costs an attacker."),
    }


def _gradient_numbers(found: Found) -> Part:
    histograms, mimicries = found["gradient_histogram"], found["mimicry"]
    shares = {name: [own.share_above[name] for own in histograms] for name in histograms[0].share_above}
    points = list(zip(*(study.points for study in mimicries), strict=True))
    return {
        "share_above": shares,
        "share_of_half": [own.share_of_half for own in histograms],
        "n_entries": histograms[0].n_entries,
        "n_kept_at_paper_share": mimicries[0].at_paper_share.n_kept,
        "cosine": [study.at_paper_share.cosine for study in mimicries],
        "slowdown": [study.at_paper_share.slowdown for study in mimicries],
        "cosine_unmimicked": [study.cosine for study in mimicries],
        "length": [study.length for study in mimicries],
        "n_kept_as_claimed": [[point.n_kept for point in study.claimed] for study in mimicries],
        "sweep": [
            {
                "n_kept": own[0].n_kept,
                "cosine": float(np.mean([point.cosine for point in own])),
                "slowdown": float(np.mean([point.slowdown for point in own])),
            }
            for own in points
        ],
    }


def _separations(found: Found) -> dict[str, tuple[Any, str]]:
    text = "The malicious model and the hull of five honest ones, after one round from a clean model."
    return {"separable-minima": (separation_figure(found["separable_minima"]), text)}


def _separation_numbers(found: Found) -> Part:
    studies = found["separable_minima"]
    return {
        "malicious": [study.malicious for study in studies],
        "left_out": [list(study.left_out) for study in studies],
        "diameter": [study.diameter for study in studies],
        "ratio": [study.ratio for study in studies],
        "malicious_success": [study.malicious_success for study in studies],
        "largest_mixed_success": [max(study.mixed_success) for study in studies],
        "lowest_mixed_accuracy": [min(study.mixed_accuracy) for study in studies],
        "n_combinations": [len(study.mixed_success) for study in studies],
    }


#: How the analyses behind each name are drawn, and their numbers.
STUDIES: Mapping[str, tuple[Callable[[Found], dict[str, tuple[Any, str]]], Callable[[Found], Part]]] = (
    MappingProxyType(
        {
            "figure4": (_landscapes, _landscape_numbers),
            "figure5": (_gradients, _gradient_numbers),
            "separable-minima": (_separations, _separation_numbers),
        }
    )
)
