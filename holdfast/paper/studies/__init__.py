"""Analyses that are no runs: what a model looks like from inside, what every rule makes of the same round."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from ...core import Bound, bind
from .landscape import landscape
from .mimicry import gradient_histogram, mimicry
from .rules import rules_on_a_round
from .separable import separable_minima
from .store import load_or_make_study, load_study

__all__ = [
    "ANALYSES",
    "NETWORK_ANALYSES",
    "analyses_of",
    "gradient_histogram",
    "landscape",
    "load_or_make_study",
    "load_study",
    "mimicry",
    "rules_on_a_round",
    "separable_minima",
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

#: The same in the paper's own network, and how many clean rounds before: a minimum takes some, in which
#: honest clients learn what they hold of the pool. There are few points, pairs and mixtures, each a pass
#: through 11.7 million weights.
NETWORK_ANALYSES: Mapping[str, tuple[int, Mapping[str, Bound[Any]]]] = MappingProxyType(
    {
        "figure4": (30, {"landscape": bind(landscape, "study", n_points=7, n_random=2)}),
        "figure5": (
            1,
            {
                "gradient_histogram": bind(gradient_histogram, "study"),
                "mimicry": bind(mimicry, "study", n_kept=(10, 1_000, 10_000), n_pairs=2),
            },
        ),
        "separable-minima": (
            1,
            {"separable_minima": bind(separable_minima, "study", n_benign=5, n_combinations=8)},
        ),
    }
)

#: What makes an analysis smaller, to see that it works.
SMOKE: Mapping[str, Any] = MappingProxyType(
    {"n_points": 5, "n_random": 2, "n_pairs": 2, "n_combinations": 20}
)


def analyses_of(name: str, *, scale: str = "cpu") -> dict[str, Bound[Any]]:
    """Return the analyses behind a figure or text result.

    >>> list(analyses_of("figure5"))
    ['gradient_histogram', 'mimicry']
    """
    if scale != "smoke":
        return dict(ANALYSES[name])
    return {
        own: bind(study, "study", **{key: SMOKE.get(key, value) for key, value in study.settings})
        for own, study in ANALYSES[name].items()
    }
