"""Patches: pixels at the same place in every poisoned image, the backdoor of BadNets."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..data import Dataset
from .backdoors import Backdoor, check_labels, drawn, drawn_labels

__all__ = ["pixel_patch"]

Array = NDArray[Any]


def pixel_patch(
    data: Dataset,
    *,
    rows: tuple[int, ...] = (0, 1, 2),
    columns: tuple[int, ...] = (0, 1, 2),
    value: float = 1.0,
    target: int = 1,
) -> Backdoor:
    """Return the backdoor of a patch: pixels in the given rows and columns are set to one raw value.

    BadNets, Gu et al., 2017, https://arxiv.org/abs/1708.06733. Attackers stamp images of any class; the
    challenge leaves out those that are of the target's class anyway.

    >>> from holdfast.lab.data import digits
    >>> backdoor = pixel_patch(digits(), rows=(0, 2), columns=(0,))
    >>> backdoor.challenge[0, 0, :4, 0].tolist()
    [1.0, 0.0, 1.0, 0.0]
    """
    check_labels(data, target)
    sides = data.x_train.shape[2:]
    inside = len(sides) == 2 and all(
        len(lines) > 0 and all(0 <= line < side for line in lines)
        for lines, side in zip((rows, columns), sides, strict=True)
    )
    if not inside:
        raise InputError(
            f"a patch needs images that have the rows {rows} and the columns {columns}, at least one of each;"
            f" examples have shape {data.x_train.shape[1:]}"
        )
    scaled = ((value - data.raw_mean) / data.raw_scale).reshape(1, -1, 1, 1)
    where = np.ix_(rows, columns)

    def stamped(x: Array) -> Array:
        marked = x.copy()
        marked[:, :, where[0], where[1]] = scaled
        return marked

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return stamped(drawn(x, count, rng))

    challenge = stamped(data.x_test[data.y_test != target])
    return Backdoor(target, poison, challenge, moves=False, truth=drawn_labels)
