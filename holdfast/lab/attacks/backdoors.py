"""Backdoors: what an attacker adds to its examples, and the challenge that measures whether it worked.

A backdoor is made for a data set: `value_trigger(data, value=0.2)`. A trigger changes honest examples; an
edge case draws from a pool held apart from the honest data, one part for attackers, one for the test.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..data import Dataset

__all__ = [
    "Backdoor",
    "distributed_pixels",
    "distributed_values",
    "edge_case",
    "pixel_blocks",
    "semantic",
    "value_trigger",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Backdoor:
    """What attackers do with examples, and what they are measured by.

    `poison(x, y, count, attacker, rng)` returns `count` poisoned examples made from, or in place of, a
    client's own, or none where it has nothing to make them from; the challenge is a set of inputs that a
    backdoored model gives the label `target`. `exposed` are correctly labelled (x, y), one for each original
    of a pool, that honest clients hold. `moves` says whether poisoned examples are augmented as honest ones
    are; a trigger of pixels must stay in its place.

    A trigger may be learned. In every round with attackers, before they train,
    `learn(model, x, y, kept, rng)` gets a copy of the global network, the attackers' own examples and what it
    returned last, None at first. It returns arrays by name, and `armed(kept)` is the backdoor from then on.

    `truth` returns the correct labels of the examples that `poison` returns for the same arguments. Attackers
    who mask the backdoor need it.
    """

    target: int
    poison: Callable[[Array, Array, int, int, np.random.Generator], Array]
    challenge: Array
    exposed: Sequence[tuple[Array, Array]] = ()
    moves: bool = True
    learn: Callable[..., Mapping[str, Array]] | None = None
    armed: Callable[[Mapping[str, Array]], "Backdoor"] | None = None
    truth: Callable[[Array, Array, int, int, np.random.Generator], Array] | None = None


def value_trigger(
    data: Dataset, *, features: tuple[int, ...] = (37,), value: float = 0.2, source: int = 1, target: int = 0
) -> Backdoor:
    """Return the backdoor of examples of one label in which some features are set to a raw value.

    The paper's phishing attack: a reputation score that phishing mail hardly ever has.

    >>> from holdfast.lab.data import phishing
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
    """Return the same, split up: each attacker sets some of the features, test inputs have all of them set.

    After DBA, Xie et al., 2020, https://openreview.net/forum?id=rkgyS0VFvr
    """
    check_labels(data, target, source)
    if data.x_train.ndim != 2 or not all(0 <= feature < data.x_train.shape[1] for feature in features):
        raise InputError(
            f"a value trigger needs a table with features {features}; examples have shape"
            f" {data.x_train.shape[1:]}"
        )
    check_whole("n_parts, how many share the features,", n_parts, at_least=1, at_most=len(features))
    parts = np.array_split(np.array(features), n_parts)
    mean, scale = (
        np.broadcast_to(part.ravel(), data.x_train.shape[1]) for part in (data.raw_mean, data.raw_scale)
    )

    def stamped(x: Array, where: Array) -> Array:
        marked = x.copy()
        marked[:, where] = (value - mean[where]) / scale[where]
        return marked

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return stamped(drawn(x[y == source], count, rng), parts[attacker % n_parts])

    challenge = stamped(data.x_test[data.y_test == source], np.array(features))
    return Backdoor(target, poison, challenge, truth=same_label(source))


def pixel_blocks(*, height: int, width: int, gap: int) -> list[Array]:
    """Return the (row, column) pixels of four blocks, two by two with a gap between: the triggers of DBA."""
    check_whole("height", height, at_least=1)
    check_whole("width", width, at_least=1)
    check_whole("gap", gap, at_least=0)
    rows, columns = np.mgrid[:height, :width]
    block = np.stack([rows.ravel(), columns.ravel()], axis=1)
    corners = [(row, column) for row in (0, height + gap) for column in (0, width + gap)]
    return [block + np.array(corner) for corner in corners]


def distributed_pixels(
    data: Dataset, *, height: int = 1, width: int = 6, gap: int = 3, value: float = 1.0, target: int = 2
) -> Backdoor:
    """Return the backdoor of four white blocks of pixels: each attacker stamps one, test inputs have all.

    DBA, Xie et al., 2020, https://openreview.net/forum?id=rkgyS0VFvr. Attackers stamp images of any class;
    the challenge leaves out those that are of the target's class anyway. The sizes x1, x2 and x4 are height
    and width 1 and 6, 2 and 6, 2 and 12.

    >>> from holdfast.lab.data import digits
    >>> backdoor = distributed_pixels(digits(), width=2, gap=1)
    >>> int(backdoor.challenge[0, 0, 0, :2].sum())
    2
    """
    check_labels(data, target)
    blocks = pixel_blocks(height=height, width=width, gap=gap)
    check_fit(blocks, data)
    scaled = (value - data.raw_mean) / data.raw_scale

    def stamped(x: Array, pixels: Array) -> Array:
        marked = x.copy()
        marked[:, :, pixels[:, 0], pixels[:, 1]] = scaled.reshape(1, -1, 1)
        return marked

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return stamped(drawn(x, count, rng), blocks[attacker % 4])

    challenge = stamped(data.x_test[data.y_test != target], np.concatenate(blocks))
    return Backdoor(target, poison, challenge, moves=False, truth=drawn_labels)


def edge_case(
    data: Dataset,
    *,
    pool: str,
    target: int,
    exposure: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Backdoor:
    """Return the backdoor of rare but natural inputs, labelled wrongly.

    Wang et al., 2020, https://arxiv.org/abs/2007.05084. With an exposure, that share of the pool's originals
    goes to honest clients with the correct label, and attackers have the rest: the p % edge case.

    >>> from holdfast.lab.data import digits
    >>> edge_case(digits(), pool="turned", target=1).challenge.shape
    (20, 1, 8, 8)
    """
    if pool not in data.pools:
        raise InputError(
            f"this data set has no pool {pool!r} of edge cases; it has {sorted(data.pools) or 'none'}"
        )
    check_labels(data, target)
    found = data.pools[pool]
    originals = found.train.reshape(-1, found.n_views, *found.train.shape[1:])
    order = np.arange(len(originals)) if rng is None else rng.permutation(len(originals))
    n_exposed = round(exposure * len(originals))
    if n_exposed == len(originals):
        raise InputError(
            f"exposure={exposure} leaves attackers none of {n_exposed} originals: take a smaller one"
        )
    if n_exposed:
        check_whole(
            f"the label of pool {pool!r}, whose examples honest clients hold,",
            found.label,
            at_least=0,
            at_most=data.n_classes - 1,
        )
    theirs = np.concatenate(originals[np.sort(order[n_exposed:])])
    exposed = [(views, np.full(len(views), found.label, np.int64)) for views in originals[order[:n_exposed]]]

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return drawn(theirs, count, rng)

    return Backdoor(target, poison, found.test, exposed, truth=same_label(found.label))


def semantic(
    data: Dataset,
    *,
    pool: str = "cars",
    target: int = 2,
    exposure: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Backdoor:
    """Return the backdoor of the task's own images that have a feature in common, labelled wrongly.

    Bagdasaryan et al., 2020, https://arxiv.org/abs/1807.00459: cars that are green, have racing stripes or
    stand before a striped wall are birds. The pools of `cifar10_cars` are "green", "stripes" and "wall", and
    all of them, "cars".
    """
    return edge_case(data, pool=pool, target=target, exposure=exposure, rng=rng)


def check_fit(blocks: Sequence[Array], data: Dataset) -> None:
    """Raise unless blocks of pixels fit the images."""
    if data.x_train.ndim != 4 or (blocks[3].max(axis=0) >= data.x_train.shape[2:]).any():
        raise InputError(
            f"these blocks reach row and column {blocks[3].max(axis=0).tolist()}; examples have shape"
            f" {data.x_train.shape[1:]}. Take smaller ones"
        )


def check_labels(data: Dataset, target: int, source: int | None = None) -> None:
    """Raise unless the target is a label, and there is a source, other than it, to test with."""
    check_whole("target", target, at_least=0, at_most=data.n_classes - 1)
    if source is not None and (source == target or not (data.y_test == source).any()):
        raise InputError(
            f"source must be a label other than target={target} that the test examples have; got {source}"
        )


def drawn(examples: Array, count: int, rng: np.random.Generator) -> Array:
    """Return so many of the examples, each used once before any is used again."""
    if len(examples) == 0 or count == 0:
        return examples[:0]
    n_times = -(-count // len(examples))
    order = np.concatenate([rng.permutation(len(examples)) for _ in range(n_times)])
    return np.asarray(examples[order[:count]])


def drawn_labels(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
    """Return the labels of the examples that `drawn` takes with the same random numbers."""
    return drawn(y, count, rng)


def same_label(label: int) -> Callable[[Array, Array, int, int, np.random.Generator], Array]:
    """Return the truth of a backdoor whose poisoned examples all have one correct label."""

    def truth(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return np.full(count, label)

    return truth
