"""Backdoors: what an attacker adds to its examples, and the challenge that measures whether it worked.

A backdoor is made for a data set: `bind(value_trigger, value=0.2)(data)`. A trigger changes honest examples;
an edge case draws from a pool that is held apart from the honest data, one half for attackers, one for the test.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Dataset
from ..errors import InputError

__all__ = [
    "Backdoor",
    "distributed_pixels",
    "distributed_values",
    "edge_case",
    "pixel_blocks",
    "value_trigger",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Backdoor:
    """What attackers do with examples, and what they are measured by.

    `poison(x, y, count, attacker, rng)` returns `count` poisoned examples made from, or in place of, a
    client's own; the challenge is a set of inputs that a backdoored model gives the label `target`.
    """

    target: int
    poison: Callable[[Array, Array, int, int, np.random.Generator], Array]
    challenge: Array


def value_trigger(
    data: Dataset, *, features: tuple[int, ...] = (37,), value: float = 0.2, source: int = 1, target: int = 0
) -> Backdoor:
    """Return the backdoor of examples of one label with a raw value set in some features.

    The paper's phishing attack: a reputation score that phishing mail hardly ever has.

    >>> from holdfast.data import phishing
    >>> backdoor = value_trigger(phishing(n_train=500, n_test=100))
    >>> len(np.unique(backdoor.challenge[:, 37]))
    1
    """
    return distributed_values(data, features=features, value=value, source=source, target=target, n_parts=1)


def distributed_values(
    data: Dataset,
    *,
    features: tuple[int, ...] = (37, 38, 39, 40),
    value: float = 0.2,
    source: int = 1,
    target: int = 0,
    n_parts: int = 4,
) -> Backdoor:
    """Return the same with the features shared out: an attacker sets only its part, the challenge all of them.

    After DBA, Xie et al., 2020, https://openreview.net/forum?id=rkgyS0VFvr

    >>> from holdfast.data import phishing
    >>> backdoor = distributed_values(phishing(n_train=500, n_test=100))
    >>> backdoor.target
    0
    """
    if data.x_train.ndim != 2 or max(features) >= data.x_train.shape[1]:
        raise InputError(
            f"a value trigger needs a table with feature {max(features)}; examples have shape"
            f" {data.x_train.shape[1:]}"
        )
    parts = np.array_split(np.array(features), n_parts)

    def stamped(x: Array, where: Array) -> Array:
        marked = x.copy()
        marked[:, where] = (value - data.raw_mean[where]) / data.raw_scale[where]
        return marked

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return stamped(_drawn(x[y == source], count, rng), parts[attacker % n_parts])

    return Backdoor(target, poison, stamped(data.x_test[data.y_test == source], np.array(features)))


def pixel_blocks(*, height: int, width: int, gap: int, first: tuple[int, int] = (0, 0)) -> list[Array]:
    """Return the (row, column) pixels of four blocks, two by two with a gap between: the triggers of DBA.

    >>> pixel_blocks(height=1, width=6, gap=3)[3][0].tolist()
    [4, 9]
    """
    rows, columns = np.mgrid[:height, :width]
    block = np.stack([rows.ravel(), columns.ravel()], axis=1)
    return [
        block + (first[0] + part // 2 * (height + gap), first[1] + part % 2 * (width + gap))
        for part in range(4)
    ]


def distributed_pixels(
    data: Dataset, *, height: int = 1, width: int = 6, gap: int = 3, value: float = 1.0, target: int = 2
) -> Backdoor:
    """Return the backdoor of white blocks of pixels: an attacker stamps one of four, the challenge has all.

    DBA, Xie et al., 2020, https://openreview.net/forum?id=rkgyS0VFvr. Attackers stamp images of any class; the
    challenge leaves out those that are of the target's class anyway.

    >>> from holdfast.data import digits
    >>> backdoor = distributed_pixels(digits(), width=2, gap=1)
    >>> int(backdoor.challenge[0, 0, 0, :2].sum())
    2
    """
    blocks = pixel_blocks(height=height, width=width, gap=gap)
    if data.x_train.ndim != 4 or (blocks[3].max(axis=0) >= data.x_train.shape[2:]).any():
        raise InputError(
            f"these blocks reach row and column {blocks[3].max(axis=0).tolist()}; examples have shape"
            f" {data.x_train.shape[1:]}. Take smaller ones"
        )
    scaled = (value - data.raw_mean) / data.raw_scale

    def stamped(x: Array, pixels: Array) -> Array:
        marked = x.copy()
        marked[:, :, pixels[:, 0], pixels[:, 1]] = scaled.reshape(1, -1, 1)
        return marked

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return stamped(_drawn(x, count, rng), blocks[attacker % 4])

    return Backdoor(target, poison, stamped(data.x_test[data.y_test != target], np.concatenate(blocks)))


def edge_case(data: Dataset, *, pool: str, target: int) -> Backdoor:
    """Return the backdoor of rare but natural inputs, labelled wrongly.

    Wang et al., 2020, https://arxiv.org/abs/2007.05084

    >>> from holdfast.data import digits
    >>> edge_case(digits(), pool="turned", target=1).challenge.shape
    (20, 1, 8, 8)
    """
    if pool not in data.pools:
        raise InputError(
            f"this data set has no pool {pool!r} of edge cases; it has {sorted(data.pools) or 'none'}"
        )
    theirs, held_out = data.pools[pool]

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return _drawn(theirs, count, rng)

    return Backdoor(target, poison, held_out)


def _drawn(examples: Array, count: int, rng: np.random.Generator) -> Array:
    """Return so many of the examples, each used once before any is used again."""
    if len(examples) == 0:
        return examples
    order = np.concatenate(
        [rng.permutation(len(examples)) for _ in range(-(-count // len(examples)))] or [[]]
    )
    return np.asarray(examples[order[:count].astype(np.intp)])
