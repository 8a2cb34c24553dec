"""Framing: which members of a faction certainly deviate by themselves, and which may only be copied.

Attackers choose what they send, so only what a client does by itself can count against it. A client is
expelled only if it deviates further than honest clients do, and not only in the direction that its faction
shares; or if its updates are several times as long as theirs. All other members count as one client:
attackers who copy an honest client cannot have it expelled.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .._support.ids import Name
from . import integers
from .crowds import centred
from .memory import LONGEST, N_REMEMBERED, ClientMemory

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]

#: The squared deviation of an expelled client is more than MARGIN times that of this share of the crowd, and
#: the part of it outside the faction's direction at least OWN times the median client's.
SHARE_OF_CROWD, MARGIN, OWN = 0.9, 1.25, 0.3
#: Or its updates are on average so many times as long as those of this share of the crowd.
LONGER = 3.0
#: Clients of the crowd, and of all factions, that are compared in a round, at most.
N_COMPARED = 256


def with_certainty(memory: ClientMemory, active: Positions) -> ClientMemory:
    """Decide which members of factions certainly deviate by themselves, and stay so while they are named."""
    certain = memory.certain & memory.named
    members = _some(active[memory.named[active]], memory)
    crowd = _some(active[~memory.named[active] & (memory.heard[active] > 1)], memory)
    if len(members) >= 2 and len(crowd) >= 3:
        own_part, share_exceeded = _compare(memory, members, crowd)
        usual = np.quantile(memory.length[crowd], SHARE_OF_CROWD, method="higher")
        is_far = (share_exceeded >= SHARE_OF_CROWD) & (own_part >= OWN)
        certain[members] |= is_far | (memory.length[members] > LONGER * usual)
    return replace(memory, certain=certain)


def voice_of_group(memory: ClientMemory, active: Positions, *, exempt: Collection[Name] = ()) -> int | None:
    """Draw the client, by position, that participates in this round for all who count as one."""
    group = [i for i in active[memory.counts_as_one[active]] if memory.clients[i] not in exempt]
    return int(_rng(memory).choice(group)) if group else None


def _compare(memory: ClientMemory, members: Positions, crowd: Positions) -> tuple[Floats, Floats]:
    """Compare members of factions with the crowd.

    Returns:
        For each member, the part of its squared deviation outside its faction's direction, in units of the
        median client's deviation; and the share of the crowd that deviates less.
    """
    both, n_members, n_crowd = np.concatenate([members, crowd]), len(members), len(crowd)
    of_crowd = np.arange(len(both)) >= n_members
    gram = centred(integers.gram(memory.rows[both]), of_crowd / n_crowd)
    deviations = _lasting(memory, both, np.diag(gram), of_crowd)
    usual = deviations[of_crowd] * (n_crowd / (n_crowd - 1)) ** 2  # each is itself a part of the mean
    own = deviations[~of_crowd]

    others = memory.faction[members, None] == memory.faction[None, members]
    others[others.sum(axis=1) < 3] = True  # too few to show a direction: all factions together
    np.fill_diagonal(others, False)
    n_others, among = others.sum(axis=1), gram[:n_members, :n_members].copy()
    along = (others * among).sum(axis=1) / n_others
    np.fill_diagonal(among, 0.0)
    shared = np.einsum("ij,jk,ik->i", others, among, others) / np.maximum(1, n_others * (n_others - 1))
    apart = own - np.where(shared > 0, along**2 / np.where(shared > 0, shared, 1.0), 0.0)
    return apart / np.median(usual), (MARGIN * usual < own[:, None]).mean(axis=1)


def _lasting(
    memory: ClientMemory, positions: Positions, squares: Floats, of_crowd: NDArray[np.bool_]
) -> Floats:
    """Estimate the squared deviations that last, without what noise adds to a mean over few rounds.

    While members of a faction still pull the middle, their own rounds look less noisy than they are: they
    have at least the noise of the median client.
    """
    heard, pace = memory.heard[positions], 1 / N_REMEMBERED
    left = pace / (2 - pace)  # what a running mean over many rounds leaves of the noise
    faded = left + (pace - left) * (1 - pace) ** (2.0 * np.maximum(0, heard - N_REMEMBERED))
    share_left = np.where(heard <= N_REMEMBERED, 1 / np.maximum(heard, 2), faded)
    noise = np.maximum(0.0, memory.squares[positions] - squares) / (1 - share_left)
    shortened = np.minimum(1.0, LONGEST / np.maximum(memory.length[positions], 1.0)) ** 2
    noise = np.where(of_crowd, noise, np.maximum(noise, shortened * np.median(noise[of_crowd])))
    return squares - np.where(heard < 2, 0.0, share_left * noise)


def _some(positions: Positions, memory: ClientMemory) -> Positions:
    """Draw so many of them that comparing them takes little time."""
    if len(positions) <= N_COMPARED:
        return positions
    return np.sort(_rng(memory).choice(positions, N_COMPARED, replace=False))


def _rng(memory: ClientMemory) -> np.random.Generator:
    """Draw from the secret seed of the watch, in another way in each round."""
    return np.random.default_rng([memory.seed, memory.round])
