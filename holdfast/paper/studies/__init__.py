"""Analyses of the paper that are no runs: what a model looks like from inside, before it is attacked."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..._support.lookup import nearest
from ...core import Bound, bind
from ...errors import InputError
from ...lab.choices import build_run
from ...lab.scenario import Run
from .clean import clean_run
from .landscape import Landscape, landscape, landscape_runs
from .mimicry import Histogram, Mimicry, gradient_histogram, mimicry
from .separable import Separation, separable_minima
from .store import load_or_make_study, load_study

__all__ = [
    "ANALYSES",
    "Histogram",
    "Landscape",
    "Mimicry",
    "Separation",
    "analyses_of",
    "gradient_histogram",
    "landscape",
    "load_or_make_studies",
    "load_or_make_study",
    "load_studies",
    "load_study",
    "mimicry",
    "separable_minima",
    "study_runs",
]

#: The analyses behind each figure or text result of the paper, by a name of their own.
ANALYSES: Mapping[str, Mapping[str, Bound[Any]]] = MappingProxyType(
    {
        "figure4": {
            "landscape": bind(landscape, "study"),
            "landscape_of_updates": bind(landscape, "study", direction="update", reach=0.3),
        },
        "figure5": {
            "gradient_histogram": bind(gradient_histogram, "study"),
            "mimicry": bind(mimicry, "study"),
        },
        "separable-minima": {"separable_minima": bind(separable_minima, "study")},
    }
)

#: What an analysis is made smaller by, to see that it works.
SMOKE: Mapping[str, Any] = MappingProxyType(
    {"n_points": 5, "n_random": 2, "n_pairs": 2, "n_combinations": 20}
)


def analyses_of(name: str, *, scale: str = "cpu") -> dict[str, Bound[Any]]:
    """Return the analyses behind a figure or text result.

    >>> list(analyses_of("figure5"))
    ['gradient_histogram', 'mimicry']
    """
    if name not in ANALYSES:
        raise InputError(f"no study {name!r}; {nearest(name, ANALYSES)}There are: {', '.join(ANALYSES)}")
    if scale != "smoke":
        return dict(ANALYSES[name])
    return {
        own: bind(study, "study", **{key: SMOKE.get(key, value) for key, value in study.settings})
        for own, study in ANALYSES[name].items()
    }


def study_runs(
    name: str, *, scale: str = "cpu", seeds: Iterable[int] = range(3), task: str = "digits"
) -> list[Run]:
    """Return the clean runs that the analyses stand on: if they are stored, they are only read.

    >>> len(study_runs("figure4")), len(study_runs("figure5"))
    (9, 3)
    """
    analyses_of(name, scale=scale)
    runs = [_run(task, scale, seed) for seed in seeds]
    if name == "figure4":
        return [clean for run in runs for clean in landscape_runs(run)]
    return [clean_run(run) for run in runs]


def load_or_make_studies(
    name: str, folder: Path, *, scale: str = "cpu", seeds: Iterable[int] = range(3), task: str = "digits"
) -> dict[str, list[Any]]:
    """Return what the analyses found, one per seed, from a folder of results; what is missing is made.

    >>> import tempfile
    >>> found = load_or_make_studies("figure5", Path(tempfile.mkdtemp()), scale="smoke", seeds=[0])
    >>> found["mimicry"][0].n_pairs
    2
    """
    runs = [_run(task, scale, seed) for seed in seeds]
    if not runs:
        raise InputError("a study needs at least one seed; got none")
    studies = analyses_of(name, scale=scale)
    return {own: [load_or_make_study(study, run, folder) for run in runs] for own, study in studies.items()}


def load_studies(
    name: str, folder: Path, *, scale: str = "cpu", seeds: Iterable[int] = range(3), task: str = "digits"
) -> dict[str, list[Any]]:
    """Return the same without making anything: a DataError where something is missing.

    >>> load_studies("figure5", Path("nowhere"))
    Traceback (most recent call last):
    holdfast.errors.DataError: no study gradient_histogram(n_bins=101) of digits, seed 0, in nowhere/studies
    """
    runs = [_run(task, scale, seed) for seed in seeds]
    studies = analyses_of(name, scale=scale)
    return {own: [load_study(study, run, folder) for run in runs] for own, study in studies.items()}


def _run(task: str, scale: str, seed: int) -> Run:
    return build_run(task, attack="edge-case", scale=scale, seed=seed)
