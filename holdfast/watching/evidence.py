"""How strong evidence must be, and how sure a verdict is.

Strengths are in nats. In a federation whose clients differ in few shared ways, such as which classes they
hold, honest clients form factions too, so a faction must be stronger there. What honest federations reach
was measured on the tasks of the laboratory; see docs/watch.md.
"""

import math

import numpy as np

from .._support.counting import check_whole
from ..errors import InputError
from .crowds import NOISE, NOISE_AT
from .verdicts import N_SEARCHED

__all__ = ["chance_of_false_alarm", "evidence_needed", "in_common_units", "rounds_until_seen"]

#: In a training of honest clients, the strongest evidence exceeds x with a chance of exp((FREE - x) / SCALE).
FREE, SCALE = 0.46, 0.126
LEAST_CHANCE = 0.001
#: What honest clients may reach in nats: so many, and more per client, because their deviations are no
#: Gaussian noise; three times as much per client beyond so many, where lasting groups of honest clients were
#: found; and more still, by a factor, where clients share more than a part of their deviations.
BASE, PER_CLIENT = 12.5, 0.12
MANY, PER_CLIENT_OF_MANY = 100, 0.36
SHARED, PER_SHARED = 0.15, 4.0


def in_common_units(strength: float, *, n_clients: int, shared: float) -> float:
    """Return a faction's strength, in nats, as a multiple of what honest clients seldom exceed.

    >>> in_common_units(37.0, n_clients=50, shared=0.1), in_common_units(37.0, n_clients=50, shared=0.4)
    (2.0, 1.0)
    """
    return strength / (_usual(n_clients) * (1.0 + PER_SHARED * max(0.0, shared - SHARED)))


def _usual(n_clients: int) -> float:
    """Return the strength, in nats, that a faction of honest clients who share little seldom exceeds."""
    return BASE + PER_CLIENT * min(n_clients, MANY) + PER_CLIENT_OF_MANY * max(0, n_clients - MANY)


def chance_of_false_alarm(evidence: float) -> float:
    """Return how likely a training of honest clients alone shows such evidence against anybody.

    Never less than one in a thousand: too few trainings were measured to say more.

    >>> chance_of_false_alarm(0.0), round(chance_of_false_alarm(1.04), 2), chance_of_false_alarm(9.0)
    (1.0, 0.01, 0.001)
    """
    return max(LEAST_CHANCE, math.exp(min(0.0, (FREE - evidence) / SCALE)))


def evidence_needed(false_alarms: float) -> float:
    """Return the evidence that honest clients alone show in this share of all trainings only.

    >>> round(evidence_needed(0.01), 1)
    1.0
    """
    if not 0 < false_alarms < 1:
        raise InputError(f"false_alarms, a share of trainings, must be in (0, 1); got {false_alarms!r}")
    return FREE + SCALE * math.log(1 / false_alarms)


def rounds_until_seen(
    *,
    n_clients: int,
    n_per_round: int,
    n_attackers: int,
    strength: float = 6.0,
    false_alarms: float = 0.01,
) -> int | None:
    """Return after how many rounds a faction of this size is seen; None if it never is.

    `strength` is how far the attackers of one round stand off from the crowd, in deviations of the crowd's
    clients in one round along that line. It grows with the root of how often a client was heard.

    >>> rounds_until_seen(n_clients=50, n_per_round=20, n_attackers=10)
    5
    >>> rounds_until_seen(n_clients=12, n_per_round=12, n_attackers=2, strength=0.5) is None
    True
    """
    check_whole("n_clients", n_clients, at_least=1)
    check_whole("n_per_round", n_per_round, at_least=1, at_most=n_clients)
    check_whole("n_attackers", n_attackers, at_least=1, at_most=n_clients)
    if not strength > 0:
        raise InputError(f"strength, in deviations, must be above 0; got {strength!r}")
    if n_clients < N_SEARCHED or 2 * n_attackers >= n_clients:
        return None
    share = n_attackers / n_clients
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    noise = float(np.interp(math.log(n_clients), np.log(NOISE_AT), NOISE))
    needed = evidence_needed(false_alarms) * _usual(n_clients)
    per_client = (needed + noise) / n_clients + entropy
    # -1/2 log(1 - eta) = per_client, eta = v / (1 + v), v = p (1 - p) (strength)^2 heard.
    between = math.expm1(2 * per_client)
    heard = max(1.0, between / (share * (1 - share) * strength**2))
    return math.ceil(heard * n_clients / n_per_round) if heard <= MOST_HEARD else None


#: What is remembered of a client is a mean over about so many participations; more make it no clearer.
MOST_HEARD = 20.0
