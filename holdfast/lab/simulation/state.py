"""What goes from round to round, and what is told of each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core import Memory
from ...core.diagnostics import Diagnostics
from ...watching import Verdicts
from ..training.schedule import Kept

__all__ = ["Record", "Sent", "State"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class State:
    """All that a run needs to resume after a round."""

    round: int
    params: NDArray[np.float32]
    previous: NDArray[np.float32] | None = None  # the last global update
    memory: Memory = field(default_factory=Memory)  # what the defence remembers
    buffers: Mapping[str, Array] = field(default_factory=dict)  # the network's, such as BatchNorm's
    kept: Mapping[int, Kept] = field(default_factory=dict)  # [client] what its training keeps
    attack: Mapping[str, Kept] = field(default_factory=dict)  # [part] what it keeps: trigger, craft0, ...


class Sent(NamedTuple):
    """What the server gets from the clients of a round, and what the attackers keep for themselves."""

    updates: NDArray[np.float32]
    buffers: tuple[Mapping[str, Array], ...] = ()
    memory: tuple[Kept | None, ...] = ()
    attack: Mapping[str, Kept] = {}


@dataclass(frozen=True)
class Record:
    """What happened in a round."""

    round: int
    accuracy: float
    attack_success: float | None  # share of the challenge that gets the target; None without a backdoor
    n_attackers: int
    clients: tuple[int, ...]
    attackers: tuple[int, ...]
    diagnostics: Diagnostics = field(repr=False)
    seconds: float = field(compare=False)
    minority_accuracy: float | None = None  # on the test examples as a minority has them; None without one
    verdicts: Verdicts | None = field(default=None, repr=False)  # of the defence's watch, if it has one
    n_found: int | None = None  # attackers that are expelled
    n_wronged: int | None = None  # and honest clients
    leak: float | None = None  # how much of the attack is in the update; see lab.leaks
    gain: float | None = None  # and how much of the honest step
    dose: float | None = None  # how much attack there is to an honest step
    examples: tuple[int, ...] = field(default=(), repr=False)  # that each of the clients has
