"""All that is measured, as one document: tables and figures made of runs, and studies, which have none."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ..errors import DataError
from ..lab.choices import build_run
from . import CLAIMS, experiments_named, judge_claims
from .experiment import Document, Experiment, changed, document
from .judging import Claim
from .network_table import NETWORKS
from .studies import NETWORK_ANALYSES, analyses_of, load_or_make_study, load_study

__all__ = ["STUDIES", "TASK", "evidence"]

#: The task of the studies that are made with the tables; it stands for CIFAR-10.
TASK = "digits"

log = logging.getLogger("holdfast")

#: What the analyses behind a study found, by name, one per seed.
Found = Mapping[str, Sequence[Any]]


def evidence(
    names: Iterable[str],
    folder: Path,
    *,
    scale: str = "cpu",
    n_seeds: int = 3,
    make: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> Document:
    """Return the document of these experiments; "all" for every one.

    A study that is not stored is left out, or made where `make` asks for that; what studies find in the
    paper's own network is only read. Of the claims, it has those that these experiments decide; at the scale
    "smoke", at which nothing is learned, and with `settings` of your own, none.

    >>> evidence(["table4"], Path("nowhere"))["experiments"][0]["name"]
    'table4'
    """
    names = list(names)
    wanted = [name for name in STUDIES if name in names or "all" in names]
    tables = experiments_named([name for name in names if name not in STUDIES], scale=scale, n_seeds=n_seeds)
    tables = changed(tables, settings) if settings else tables
    studies = [_experiment(name, folder, scale, n_seeds, make=make) for name in wanted]
    own = {*wanted, *(one.name for one in tables)}
    about = {
        (claim.id, task)
        for claim in CLAIMS
        for task in claim.tasks
        if "all" in names or _decided_by(claim, task) <= own
    }

    def judged(experiments: Sequence[Document]) -> list[Document]:
        claims = [] if scale == "smoke" or settings else judge_claims(experiments)
        return [claim for claim in claims if (claim["id"], claim["task"]) in about]

    return document([*tables, *filter(None, studies)], folder, scale=scale, judge=judged)


def _decided_by(claim: Claim, task: str) -> set[str]:
    """Return the names of the experiments that decide a claim on a task, or that of its study."""
    if claim.holds is None:
        return {name for name, study in STUDIES.items() if study.claim == claim.id}
    return {experiment for own in task.split(" + ") for experiment, _ in claim.cells_on(own).values()}


def _experiment(name: str, folder: Path, scale: str, n_seeds: int, *, make: bool) -> Experiment | None:
    """Return a study as an experiment without runs; None where it is not there and cannot be made."""
    seeds = list(range(n_seeds))
    runs = [build_run(TASK, attack="edge-case", scale=scale, seed=seed) for seed in seeds]
    load, analyses = load_or_make_study if make else load_study, analyses_of(name, scale=scale)
    study = STUDIES[name]
    try:
        found = {own: [load(study, run, folder) for run in runs] for own, study in analyses.items()}
        numbers = {"task": TASK, "scale": scale, "seeds": seeds, **study.numbers(found)}
        json.dumps(numbers, allow_nan=False)  # raises for means of nothing
        holds, text = study.finding(numbers)
    except DataError:
        return None
    except (ArithmeticError, LookupError, ValueError) as error:  # of numbers that do not go together
        log.warning("the study %s is left out: what is stored of it was edited: %r", name, error)
        return None
    finding = {"id": study.claim, "task": TASK, "holds": holds, "numbers": text}
    return Experiment(
        name,
        study.title,
        "figure",
        study.note,
        (),
        studies={**numbers, "findings": [finding, *_network_findings(name, folder, scale)]},
        analyses={own: [asdict(one) for one in given] for own, given in found.items()},
    )


def _network_findings(name: str, folder: Path, scale: str) -> list[Document]:
    """Return what a stored study found in the paper's own network, with one seed, under each protocol."""
    study, (n_rounds, analyses) = STUDIES[name], NETWORK_ANALYSES[name]
    findings = []
    for task in NETWORKS:
        run = build_run(task, attack="edge-case", scale=scale).replace(n_rounds=n_rounds)
        try:
            stored = {own: [load_study(analysis, run, folder)] for own, analysis in analyses.items()}
            holds, text = study.finding({"seeds": [0], **study.numbers(stored)})
        except (DataError, ArithmeticError, LookupError, ValueError):  # not there, or edited
            continue
        findings.append({"id": study.claim, "task": task, "holds": holds, "numbers": text, "n_seeds": 1})
    return findings


def _landscape_numbers(found: Found) -> Document:
    """Return the mean rise of the loss by exposure, one number per seed, and how many seeds are ordered."""
    parts: Document = {}
    for own, studies in found.items():
        by_exposure = {
            f"{slopes[0].exposure:g}": slopes
            for slopes in zip(*(study.slopes for study in studies), strict=True)
        }
        parts[own] = {
            "rise": {share: [slope.rise for slope in slopes] for share, slopes in by_exposure.items()},
            "random_rise": {
                share: [slope.random_rise for slope in slopes] for share, slopes in by_exposure.items()
            },
            "n_edge": {share: slopes[0].n_edge for share, slopes in by_exposure.items()},
            "n_seeds_ordered": sum(study.ordered for study in studies),
            "n_seeds_unexposed_flattest": sum(
                study.slopes[0].rise == min(slope.rise for slope in study.slopes) for study in studies
            ),
            "reach": studies[0].distances[-1],
        }
    return parts


def _landscape_finding(numbers: Document) -> tuple[bool, str]:
    told, n_seeds = numbers["landscape"], len(numbers["seeds"])
    n_flat = told["n_seeds_unexposed_flattest"]
    rises = ", ".join(f"{float(share):.0%}: {_mean(rise):.3g}" for share, rise in told["rise"].items())
    return n_flat == n_seeds, (
        f"mean rise of the loss by exposure {rises}; least at 0 % in {n_flat} of"
        f" {n_seeds} seed{'s' * (n_seeds != 1)}"
    )


def _gradient_numbers(found: Found) -> Document:
    histograms, mimicries = found["gradient_histogram"], found["mimicry"]
    sweep = [
        {
            "n_kept": points[0].n_kept,
            "cosine": _mean([point.cosine for point in points]),
            "slowdown": _mean([point.slowdown for point in points]),
        }
        for points in zip(*(study.points for study in mimicries), strict=True)
    ]
    return {
        "share_above": {
            name: [own.share_above[name] for own in histograms] for name in histograms[0].share_above
        },
        "share_of_half": [own.share_of_half for own in histograms],
        "n_entries": histograms[0].n_entries,
        "n_kept_at_paper_share": mimicries[0].at_paper_share.n_kept,
        "cosine": [study.at_paper_share.cosine for study in mimicries],
        "slowdown": [study.at_paper_share.slowdown for study in mimicries],
        "cosine_unmimicked": [study.cosine for study in mimicries],
        "length": [study.length for study in mimicries],
        "n_kept_as_claimed": [[point.n_kept for point in study.claimed] for study in mimicries],
        "sweep": sweep,
    }


def _gradient_finding(numbers: Document) -> tuple[bool, str]:
    cosine, slowdown = _mean(numbers["cosine"]), _mean(numbers["slowdown"])
    return cosine > 0.95 and slowdown < 0.1, (
        f"{numbers['n_kept_at_paper_share']} entries kept: cosine {cosine:.3f}, {slowdown:.1%} slower"
    )


def _separation_numbers(found: Found) -> Document:
    studies = found["separable_minima"]
    return {
        **{name: [getattr(study, name) for study in studies] for name in ("malicious", "diameter", "ratio")},
        "left_out": [list(study.left_out) for study in studies],
        "malicious_success": [study.malicious_success for study in studies],
        "largest_mixed_success": [max(study.mixed_success) for study in studies],
        "lowest_mixed_accuracy": [min(study.mixed_accuracy) for study in studies],
        "n_combinations": [len(study.mixed_success) for study in studies],
    }


def _separation_finding(numbers: Document) -> tuple[bool, str]:
    ratios, success = numbers["ratio"], max(numbers["largest_mixed_success"])
    times = " to ".join(dict.fromkeys(f"{ratio:.2f}" for ratio in (min(ratios), max(ratios))))
    return min(ratios) > 1, (
        f"{times} times as far from the hull as an honest one from the others'"
        f"; ASR of honest mixtures at most {success:.1%}"
    )


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


class Study(NamedTuple):
    """A study: what a reader sees above it, its numbers over the seeds, and what they say of a claim."""

    title: str
    note: str
    numbers: Callable[[Found], Document]
    claim: str
    finding: Callable[[Document], tuple[bool, str]]


#: The studies by name.
STUDIES: Mapping[str, Study] = MappingProxyType(
    {
        "figure4": Study(
            "Figure 4: the loss around a clean minimum",
            "Honest clients hold 0, 15 or 30 % of the edge cases, with correct labels. Is the loss flat in"
            " the attackers' direction?",
            _landscape_numbers,
            "claim-11",
            _landscape_finding,
        ),
        "figure5": Study(
            "Figure 5: the entries of a malicious update, and mimicry",
            "Few entries are large. An attacker may send those alone, and an honest client's numbers"
            " elsewhere.",
            _gradient_numbers,
            "claim-12",
            _gradient_finding,
        ),
        "separable-minima": Study(
            "Separable minima",
            "Five honest clients and an attacker train for one round from a clean model.",
            _separation_numbers,
            "minima",
            _separation_finding,
        ),
    }
)
