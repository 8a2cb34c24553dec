"""The claims on tables 5 to 10, on figure 6 and on the studies, as checks on measured numbers."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from .figure6 import ALPHAS, TAUS
from .judging import Claim, Finding, Seen, said
from .table5 import ATTACKS
from .table8 import PRINTED as SHARES
from .table9 import PRINTED as TRIGGERS

__all__ = ["OTHER_CLAIMS"]

LOW, NOISE = 0.1, 0.005

IMAGES = ("cifar10", "digits")
EVERYWHERE = ("cifar10", "digits", "phishing")
RATIOS = tuple(f"{percent} %" for percent in SHARES)
DEALT = ("Dirichlet, α 1.0", "Dirichlet, α 0.5", "Dirichlet, α 0.2")


def _distributed(seen: Seen, task: str) -> Finding:
    found = seen.rows("table5", ("Edge-case", "Distributed (DBA)"), task)
    edge, parts = found.values()
    return Finding(parts.success <= edge.success + NOISE, said(found))


def _slightly(seen: Seen, task: str) -> Finding:
    found = seen.rows("table5", ("Edge-case", *list(ATTACKS)[3:]), task)
    edge = found["Edge-case"].success
    return Finding(all(one.success <= edge + 0.05 for one in found.values()), said(found))


def _ordered(seen: Seen, task: str) -> Finding:
    rows = ("Edge-case, collude, adaptive", "Edge-case, collude", "Edge-case, adaptive")
    found = seen.rows("table5", rows, task)
    return Finding(all(high.success > low.success for high, low in pairwise(found.values())), said(found))


def _stays_low(experiment: str, rows: Sequence[str]) -> Any:
    def check(seen: Seen, task: str) -> Finding:
        found = seen.rows(experiment, rows, task)
        return Finding(all(one.success <= 0.005 for one in found.values()), said(found))

    return check


def _never_rises(experiment: str, rows: Sequence[str]) -> Any:
    def check(seen: Seen, task: str) -> Finding:
        found = seen.rows(experiment, rows, task)
        holds = all(later.accuracy <= sooner.accuracy + NOISE for sooner, later in pairwise(found.values()))
        return Finding(holds, said(found))

    return check


def _wide(experiment: str, sign: str, values: Sequence[float], n_needed: int) -> Any:
    """Return the check that so many neighbouring values of a setting have a low ASR."""

    def check(seen: Seen, task: str) -> Finding:
        found = [seen(experiment, f"{sign} = {value}", task).success for value in values]
        longest = current = 0
        for success in found:
            current = current + 1 if success <= LOW else 0
            longest = max(longest, current)
        said = ", ".join(f"{value}: {success:.3f}" for value, success in zip(values, found, strict=True))
        return Finding(longest >= n_needed, f"ASR by {sign}: {said}")

    return check


def _few_clients(seen: Seen, task: str) -> Finding:
    found = seen.rows("figure6c", ("10 clients", "20 clients"), task)
    few, usual = found.values()
    return Finding(few.success <= LOW and few.accuracy >= usual.accuracy - 0.05, said(found))


OTHER_CLAIMS = (
    Claim(
        "claim-9a",
        "A distributed trigger has no higher ASR than the edge case.",
        "§4.9",
        EVERYWHERE,
        _distributed,
    ),
    Claim(
        "claim-9b",
        "Colluding, adapting and both raise the ASR by at most .05.",
        "§4.9",
        (*EVERYWHERE, "twitter"),
        _slightly,
    ),
    Claim(
        "claim-9c",
        "The ASR is highest for both, lower for colluding, lowest for adapting.",
        "§4.9",
        IMAGES,
        _ordered,
    ),
    Claim(
        "claim-10a",
        "The ASR is at most .005 for shares of attackers from 0 to 20 %.",
        "§4.10",
        EVERYWHERE,
        _stays_low("table8", RATIOS),
    ),
    Claim(
        "claim-10b",
        "The ASR is at most .005 for triggers of all sizes.",
        "§4.10",
        IMAGES,
        _stays_low("table9", tuple(TRIGGERS)),
    ),
    Claim(
        "claim-10c",
        "The ASR is at most .005 however the examples are dealt.",
        "§4.10",
        IMAGES,
        _stays_low("table10", ("i.i.d. (everything)", *DEALT)),
    ),
    Claim(
        "claim-10d",
        "Acc never rises with the share of attackers (by more than .005).",
        "§4.10",
        EVERYWHERE,
        _never_rises("table8", RATIOS),
    ),
    Claim(
        "claim-10e",
        "Acc never rises as shards differ more (by more than .005).",
        "§4.10",
        IMAGES,
        _never_rises("table10", DEALT),
    ),
    Claim("claim-11", "The loss rises least along the attackers' way for a 0 % edge case.", "§4.11", IMAGES),
    Claim(
        "claim-12",
        "A mimicking gradient has a cosine above .95 at less than 10 % slower attack.",
        "§4.12",
        IMAGES,
    ),
    Claim("minima", "The attackers' minimum lies outside the hull of the honest ones.", "§3", IMAGES),
    Claim(
        "figure-6a",
        "A wide range of τ has a low ASR: four neighbours of the grid or more.",
        "F6a",
        EVERYWHERE,
        _wide("figure6a", "τ", TAUS, 4),
    ),
    Claim(
        "figure-6b",
        "A wide range of α has a low ASR: four neighbours of the grid or more.",
        "F6b",
        EVERYWHERE,
        _wide("figure6b", "α", ALPHAS, 4),
    ),
    Claim(
        "figure-6c",
        "With 10 clients a round the ASR is still low, and Acc within .05 of that with 20.",
        "F6c",
        EVERYWHERE,
        _few_clients,
    ),
)
