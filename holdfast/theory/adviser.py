"""The adviser: which alpha and tau for this federation, what they guarantee, what they cost."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..aggregators.invariant import PUBLISHED
from ..watching import rounds_until_seen
from .advice_text import guarantees, problems
from .checks import in_range
from .federation import Assessment, Federation

__all__ = ["Advice", "advise"]


@dataclass(frozen=True)
class Advice:
    """What the adviser found. Use it as invariant(**advice.settings); store it as `as_dict()`.

    `region` holds the counts (trimmed at each end, against at most) of every pair of settings that keeps all
    risks below `risk`; it is empty where none does, and `problems` says why. The recommended pair is then
    the best there is.
    """

    federation: Federation
    risk: float
    recommended: Assessment
    published: Mapping[str, Assessment]
    region: tuple[tuple[int, int], ...]
    guarantees: tuple[str, ...]  # of the recommended settings, each with what it assumes
    problems: tuple[str, ...]
    strength: float  # how far attackers stand off in a round, in deviations of the honest clients
    rounds_until_seen: int | None  # by a watch, if they are that strong; None: never

    @property
    def within_risk(self) -> bool:
        """Whether the recommended settings keep every risk at most `risk`."""
        return not self.problems

    @property
    def settings(self) -> dict[str, float]:
        """The recommended settings, for invariant(**settings)."""
        return {"tau": self.recommended.tau, "alpha": self.recommended.alpha}

    @property
    def published_by_settings(self) -> dict[tuple[str, ...], Assessment]:
        """The published settings, each once, by all the names that share them."""
        names: dict[Assessment, tuple[str, ...]] = {}
        for name, found in self.published.items():
            names[found] = (*names.get(found, ()), name)
        return {sharing: found for found, sharing in names.items()}

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers, strings and lists, ready for json.dumps."""
        region = [{"n_trimmed": k, "n_against": m} for k, m in self.region]
        head = {"settings": self.settings, "within_risk": self.within_risk}
        return head | asdict(self) | {"region": region}


def advise(
    *,
    n_clients: int,
    n_malicious: int,
    n_per_round: int | None = None,
    n_rounds: int = 300,
    flip: float = 0.1,
    risk: float = 0.01,
    learning: float = 0.5,
    strength: float = 3.0,
) -> Advice:
    """Return the settings of `invariant` for this federation; without `n_per_round`, all clients take part.

    tau is the strictest that lets an attacked coordinate learn in the share `learning` of the rounds, if the
    chance that it is ever turned is then at most `risk`. alpha trims the least that makes every direction
    sure and keeps the chance that any round has more attackers than are trimmed at most `risk`. `strength` is
    for the watch alone: see `holdfast.watching.rounds_until_seen`.

    >>> advice = advise(n_clients=100, n_malicious=10, n_per_round=15)
    >>> advice.settings, advice.within_risk
    ({'tau': 0.6, 'alpha': 0.46}, True)
    >>> advice.rounds_until_seen > 100 / 15  # not before everybody was heard
    True
    """
    in_range("risk", risk, 0, 1, open_low=True)
    in_range("learning", learning, 0, 1)
    federation = Federation(
        n_clients, n_malicious, n_clients if n_per_round is None else n_per_round, n_rounds, flip
    )
    most = federation.most_trimmed
    counts = np.arange(most + 1)
    # If every direction is sure, the mask alone decides: at most so many on the one side, or on the other.
    learns, misled = np.cumsum(federation.against), np.cumsum(federation.against[::-1])
    trims = counts[federation.chance_ever(federation.chance_of_more(counts)) <= risk]
    masks = counts[
        (federation.chance_ever(misled[counts].clip(0, 1)) <= risk) & (counts >= federation.typical_attackers)
    ]

    enough = masks[learns[masks] >= learning]
    last_resort = [min(federation.typical_attackers, most)]
    n_against = next(candidates[0] for candidates in (enough, masks[::-1], last_resort) if len(candidates))
    n_trimmed = max(n_against, trims[0]) if trims.size else most
    recommended = Assessment.from_counts(federation, n_trimmed=int(n_trimmed), n_against=int(n_against))
    return Advice(
        federation=federation,
        risk=risk,
        recommended=recommended,
        published={name: Assessment.of(federation, **pair) for name, pair in PUBLISHED.items()},
        region=tuple((k, m) for k in trims.tolist() for m in masks.tolist() if m <= k),
        guarantees=tuple(guarantees(federation, recommended)),
        problems=tuple(problems(federation, recommended, risk)),
        strength=strength,
        rounds_until_seen=rounds_until_seen(
            n_clients=n_clients,
            n_per_round=federation.n_per_round,
            n_attackers=n_malicious,
            strength=strength,
        ),
    )
