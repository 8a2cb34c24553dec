"""A data set: examples for the clients, examples to test on, and what attacks need to know of them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

__all__ = ["Dataset", "Pool", "standardise"]

Array = NDArray[Any]


class Pool(NamedTuple):
    """Rare inputs for edge-case attacks, held apart from the honest data, and the label they truly have.

    `n_views` examples in a row show one original, such as its rotations, and stay together.

    >>> Pool(np.zeros((8, 2)), np.zeros((4, 2)), label=7, n_views=4).label
    7
    """

    train: Array
    test: Array
    label: int
    n_views: int = 1


@dataclass(frozen=True, eq=False)
class Dataset:
    """Examples as the model sees them: x in float32, y in whole numbers from 0 on.

    `raw_mean` and `raw_scale` lead back to raw values, x * raw_scale + raw_mean, for triggers that are raw
    values. `pools` are examples held apart from the honest data, for edge-case attacks, by name.
    `vectors` are word vectors, frozen, for data whose x are words: rows of it, 0 after the last word.

    >>> data = Dataset(np.zeros((4, 2)), np.zeros(4), np.zeros((2, 2)), np.zeros(2))
    >>> data.x_train.dtype, len(data.checksum)
    (dtype('float32'), 64)
    """

    x_train: Array
    y_train: Array
    x_test: Array
    y_test: Array
    raw_mean: Array = field(default_factory=lambda: np.zeros(1, np.float32))
    raw_scale: Array = field(default_factory=lambda: np.ones(1, np.float32))
    pools: Mapping[str, Pool] = field(default_factory=lambda: MappingProxyType({}))
    vectors: Array | None = None

    def __post_init__(self) -> None:
        """Bring the arrays into their types, and refuse what does not fit together."""
        for name in ("x_train", "x_test", "raw_mean", "raw_scale"):
            object.__setattr__(self, name, _as_floats(name, getattr(self, name)))
        for name in ("y_train", "y_test"):
            object.__setattr__(self, name, _as_labels(name, getattr(self, name)))
        for part in ("train", "test"):
            x, y = getattr(self, f"x_{part}"), getattr(self, f"y_{part}")
            if len(x) != len(y) or len(x) == 0:
                raise InputError(
                    f"x_{part} and y_{part} must have one length, above 0; got {len(x)} and {len(y)}"
                )
        if self.x_train.shape[1:] != self.x_test.shape[1:]:
            raise InputError(
                f"examples must have one shape; got {self.x_train.shape[1:]} to train on"
                f" and {self.x_test.shape[1:]} to test on"
            )
        self._check_raw()
        pools = {name: self._fitting(name, pool) for name, pool in self.pools.items()}
        object.__setattr__(self, "pools", MappingProxyType(pools))
        if self.vectors is not None:
            self._check_words(len(self.vectors))

    def _check_raw(self) -> None:
        """Raise unless raw values are found from one number, or from one per feature or channel."""
        n_parts = 1 if self.vectors is not None else (self.x_train.shape[1:2] or (1,))[0]
        for name in ("raw_mean", "raw_scale"):
            given = getattr(self, name)
            if given.size not in (1, n_parts):
                raise InputError(
                    f"{name} must be one number, or {n_parts}, one per feature or channel of an example of"
                    f" shape {self.x_train.shape[1:]}; got an array of shape {given.shape}"
                )
        if (self.raw_scale == 0).any():
            raise InputError("raw_scale must not be 0: take 1 where all raw values are the same")

    def _fitting(self, name: str, pool: Pool) -> Pool:
        """Return a pool in the type of the examples, if it fits them."""
        train, test = (_as_floats(f"pool {name!r}", part) for part in (pool.train, pool.test))
        if {train.shape[1:], test.shape[1:]} != {self.x_train.shape[1:]}:
            raise InputError(f"the examples of pool {name!r} must have shape {self.x_train.shape[1:]}")
        if pool.n_views < 1 or len(train) % pool.n_views or 0 in (len(train), len(test)):
            raise InputError(
                f"pool {name!r} needs examples to train and to test on, a multiple of its n_views;"
                f" got {len(train)}, {len(test)} and n_views={pool.n_views}"
            )
        return pool._replace(train=train, test=test)

    def _check_words(self, n_words: int) -> None:
        """Raise unless all x are rows of the vectors."""
        for x in (self.x_train, self.x_test):
            wrong = x[~((x >= 0) & (x < n_words) & (x == np.floor(x)))]
            if len(wrong):
                raise InputError(f"x must be rows of {n_words} vectors; got {wrong[0]:g}")

    @cached_property
    def checksum(self) -> str:
        """The sha256 of all the numbers: part of what a result is stored under."""
        digest = hashlib.sha256()
        own = (self.x_train, self.y_train, self.x_test, self.y_test, self.raw_mean, self.raw_scale)
        pools = (part for _, pool in sorted(self.pools.items()) for part in pool)
        vectors = () if self.vectors is None else (self.vectors,)
        for array in map(np.asarray, (*own, *pools, *vectors)):
            digest.update(str((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def span(self) -> tuple[Array, Array] | None:
        """The lowest and the highest values an example can have; None where it is words.

        Those of an image are its raw 0 and 1, by channel; a table's are three standard deviations.
        """
        if self.vectors is not None:
            return None
        if self.x_train.ndim == 2:
            return np.array([-3], np.float32), np.array([3], np.float32)
        mean, scale = (part.reshape(-1, 1, 1) for part in (self.raw_mean, self.raw_scale))
        return -mean / scale, (1 - mean) / scale

    @property
    def n_classes(self) -> int:
        """How many labels there are."""
        return int(max(self.y_train.max(), self.y_test.max())) + 1

    @property
    def guess_rate(self) -> float:
        """The accuracy of always guessing the most frequent label of the test examples."""
        return float(np.bincount(self.y_test).max() / len(self.y_test))


def _as_array(name: str, given: Any) -> Array:
    """Return what was given as an array."""
    try:
        return np.asarray(given)
    except (ValueError, TypeError, RuntimeError) as error:  # rows of several lengths, a tensor on a GPU
        raise InputError(f"{name} must be an array of numbers: {error}") from None


def _as_floats(name: str, given: Any) -> NDArray[np.float32]:
    """Return finite numbers in float32.

    A client that holds NaN would be dropped as if it attacked, and a test example with NaN counted as
    label 0.
    """
    array = _as_array(name, given)
    try:
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its type is {array.dtype}")
        with np.errstate(over="ignore"):  # which is found below
            floats = np.ascontiguousarray(array, dtype=np.float32)
    except (ValueError, TypeError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from None
    if not np.isfinite(floats.sum(dtype=np.float64)):  # which takes no memory
        is_wrong = ~np.isfinite(floats.reshape(len(floats), -1)).all(axis=1)
        raise InputError(
            f"{name} must hold finite numbers that fit float32; {is_wrong.sum()} of {len(floats)} rows do"
            f" not, the first of them row {is_wrong.argmax()}: leave them out, or fill in what is missing"
        )
    return floats


def _as_labels(name: str, given: Any) -> NDArray[np.int64]:
    """Return labels as whole numbers; floats and booleans may be such numbers too, but nothing is rounded."""
    labels = _as_array(name, given)
    if labels.ndim != 1 or labels.dtype.kind not in "biuf":
        raise InputError(
            f"{name} must be one whole number per example, its label; got an array of shape {labels.shape}"
            f" and type {labels.dtype}: number the labels from 0 on"
        )
    wrong = labels[~((labels >= 0) & (labels == np.floor(labels)) & (labels < 2**31))]
    if len(wrong):
        raise InputError(
            f"{name} must be whole numbers from 0 on; {len(wrong)} of {len(labels)} are not, such as"
            f" {wrong[0]}: number the labels from 0 on"
        )
    return np.ascontiguousarray(labels, dtype=np.int64)


def standardise(x_train: Array, y_train: Array, x_test: Array, y_test: Array) -> Dataset:
    """Return the data set with every feature standardised by the training examples' mean and deviation.

    >>> data = standardise(np.array([[0.0], [2.0]]), np.array([0, 1]), np.array([[4.0]]), np.array([1]))
    >>> data.x_train.ravel(), data.x_test.ravel()
    (array([-1.,  1.], dtype=float32), array([3.], dtype=float32))
    """
    mean, scale = x_train.mean(axis=0), x_train.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    train, test = ((x - mean) / scale for x in (x_train, x_test))
    return Dataset(train, y_train, test, y_test, raw_mean=mean, raw_scale=scale)
