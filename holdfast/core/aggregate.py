"""What a rule returns, and what a defence remembers between rounds."""

from dataclasses import dataclass
from typing import Any

from .diagnostics import Diagnostics

__all__ = ["Aggregate", "Memory"]


@dataclass(frozen=True, eq=False)
class Aggregate:
    """What a rule returns: the update to add to the global model, and what there is to say about it.

    `update` has the form of one client's update (array, list of layers, mapping), or is flat. `state`
    goes back into the rule in the next round.

    >>> import numpy as np
    >>> from holdfast import median
    >>> median(np.array([[1.0, 4.0], [2.0, 3.0], [9.0, -2.0]])).update
    array([2., 3.])
    """

    update: Any
    state: Any = None
    diagnostics: Diagnostics | None = None


@dataclass(frozen=True, eq=False)
class Memory:
    """What a defence remembers between rounds: the rule's state and, if the rule asks for it, the last
    update; the watch's state, and the model from before anything was applied, for a rewind.
    """

    rule: Any = None
    previous: Any = None
    watch: Any = None
    start: Any = None
