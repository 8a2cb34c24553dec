"""All that is measured, as one document: tables and figures made of runs, and studies that are none."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..paper import experiments_named, judge_claims
from ..paper.experiment import Document, Experiment, document
from . import studies

__all__ = ["STUDIES", "evidence", "study_experiment"]

#: The studies by name, with what a reader sees above them. Their task stands for CIFAR-10.
STUDIES: Mapping[str, tuple[str, str]] = {
    "figure4": (
        "Figure 4: the loss around a clean minimum",
        "Honest clients hold 0, 15 or 30 % of the edge cases, rightly labelled. Is the loss flat along the"
        " attackers' way?",
    ),
    "figure5": (
        "Figure 5: the entries of a malicious update, and mimicry",
        "Few entries are large. An attacker may send those alone, and an honest client's numbers elsewhere.",
    ),
    "separable-minima": (
        "Separable minima",
        "Five honest clients and an attacker train for one round from a clean model.",
    ),
}
TASK = "digits"


def evidence(
    names: Iterable[str], folder: Path, *, scale: str = "cpu", n_seeds: int = 3, made: bool = False
) -> Document:
    """Return the document of these experiments; "all" for every one. Studies are made only if asked for.

    >>> evidence(["table4"], Path("nowhere"))["experiments"][0]["name"]
    'table4'
    """
    names = list(names)
    wanted = [name for name in STUDIES if name in names or "all" in names]
    tables = experiments_named([name for name in names if name not in STUDIES], scale=scale, n_seeds=n_seeds)
    found = [study_experiment(name, folder, scale=scale, n_seeds=n_seeds, made=made) for name in wanted]
    return document([*tables, *(one for one in found if one)], folder, scale=scale, judge=judge_claims)


def study_experiment(
    name: str, folder: Path, *, scale: str, n_seeds: int, made: bool = False
) -> Experiment | None:
    """Return a study as an experiment without runs, or None where it is neither stored nor to be made.

    >>> study_experiment("figure5", Path("nowhere"), scale="smoke", n_seeds=1) is None
    True
    """
    own, figures = folder / "studies", folder / "figures" / scale
    if not made and not studies.is_stored(name, own, scale=scale, seeds=range(n_seeds), task=TASK):
        return None
    try:
        part = studies.make(name, own, scale=scale, seeds=range(n_seeds), task=TASK, figures=figures)
    except DataError:
        return None
    title, note = STUDIES[name]
    told = {**part["studies"], "findings": FINDINGS[name](part["studies"])}
    return Experiment(name, title, "figure", note, (), figures=tuple(part["figures"]), studies=told)


def _flattest(found: Mapping[str, Any]) -> list[Document]:
    told = found["landscape"]
    n_seeds, n_flat = len(found["seeds"]), told["n_seeds_unexposed_flattest"]
    rises = ", ".join(
        f"{float(share):.0%}: {sum(rise) / len(rise):.3g}" for share, rise in told["rise"].items()
    )
    numbers = f"mean rise of the loss by exposure {rises}; least at 0 % in {n_flat} of {n_seeds} seeds"
    return [_finding("claim-11", n_flat == n_seeds, numbers)]


def _mimicked(found: Mapping[str, Any]) -> list[Document]:
    cosine, slowdown = (sum(found[name]) / len(found[name]) for name in ("cosine", "slowdown"))
    numbers = f"{found['n_kept_at_paper_share']} entries kept: cosine {cosine:.3f}, {slowdown:.1%} slower"
    return [_finding("claim-12", cosine > 0.95 and slowdown < 0.1, numbers)]


def _separate(found: Mapping[str, Any]) -> list[Document]:
    ratios, success = found["ratio"], max(found["largest_mixed_success"])
    numbers = (
        f"{min(ratios):.2f} to {max(ratios):.2f} times as far from the hull as an honest one from the others'"
        f"; ASR of honest mixtures at most {success:.3f}"
    )
    return [_finding("minima", min(ratios) > 1, numbers)]


def _finding(claim: str, holds: bool, numbers: str) -> Document:
    return {"id": claim, "task": TASK, "holds": holds, "numbers": numbers}


FINDINGS = {"figure4": _flattest, "figure5": _mimicked, "separable-minima": _separate}
