"""What a defence remembers between rounds, in a file: for a loop of your own that must survive a restart."""

from collections.abc import Callable
from pathlib import Path

from ..core import Aggregate, Memory, Rule, bind
from ..errors import InputError
from .room import Room
from .saving import load_memory, save_memory

__all__ = ["load_state", "save_state"]

#: More bytes than any machine has: what was in memory when it was saved is read into memory.
UNBOUNDED = 1 << 60


def save_state(path: str | Path, state: Memory, *, rule: Rule | Callable[..., Aggregate]) -> None:
    """Write the `state` of a round's result to a safetensors file, whole or not at all.

    Only its owner may read a new file: it holds the watch's secret sample, and who knows that can hide from
    the watch. `rule` is the one that the round was made with.

    >>> import tempfile
    >>> import numpy as np
    >>> from holdfast import defend, sparsefed
    >>> path = Path(tempfile.mkdtemp()) / "training.state"
    >>> result = defend(np.ones((3, 4)), sparsefed(kept=0.5), state=load_state(path, rule=sparsefed))
    >>> save_state(path, result.state, rule=sparsefed)
    >>> bool((load_state(path, rule=sparsefed).rule.error == result.state.rule.error).all())
    True
    """
    if not isinstance(state, Memory):
        raise InputError(f"state must be the state of a round's result; got {type(state).__name__}")
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        save_memory(path, bind(rule), state)
    except OSError as error:
        raise InputError(f"the state {str(path)!r} cannot be written: {error.strerror}") from None


def load_state(path: str | Path, *, rule: Rule | Callable[..., Aggregate]) -> Memory:
    """Return the state that was saved, for `defend(..., state=...)`; before the first round, an empty one.

    A DataError if the file is damaged, or no state at all.

    >>> from holdfast import median
    >>> load_state("nowhere/training.state", rule=median).watch is None
    True
    """
    path = Path(path)
    return load_memory(path, bind(rule), Room(path.parent, UNBOUNDED))
