"""What a user's own functions return, checked where it enters a run."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ..._support.faults import fault_in_own_code
from ...errors import InputError
from ..attacks import Backdoor
from ..data import Dataset
from ..inference import confident, most_likely
from ..lazy_torch import nn, torch
from ..scenario import Run
from ..training.schedule import Kept

__all__ = [
    "as_backdoor",
    "as_dataset",
    "as_kept",
    "as_labels",
    "as_network",
    "as_numbers",
    "as_poison",
    "as_split",
    "check_finite",
    "check_outputs",
    "unwritable",
    "unwritable_data",
]

Array = NDArray[Any]


def unwritable(array: Array) -> Array:
    """Return a view for a function to read: to write into it is an error, which says where.

    >>> unwritable(np.zeros(2)).flags.writeable
    False
    """
    view = array.view()
    view.flags.writeable = False
    return view


def unwritable_data(data: Dataset) -> Dataset:
    """Return a data set for a function to read: its examples are those of all runs of this process."""
    shown = copy.copy(data)
    for name in ("x_train", "y_train", "x_test", "y_test", "raw_mean", "raw_scale"):
        object.__setattr__(shown, name, unwritable(getattr(data, name)))
    pools = {
        name: pool._replace(train=unwritable(pool.train), test=unwritable(pool.test))
        for name, pool in data.pools.items()
    }
    object.__setattr__(shown, "pools", pools)
    return shown


def as_network(made: Any, who: str) -> nn.Module:
    """Return what a function made, if it is a network that can be trained here."""
    if not isinstance(made, nn.Module):
        raise InputError(f"{who} must return a network, a torch.nn.Module; got {_spelt(made)}")
    parts = list(made.parameters())
    if not any(part.requires_grad for part in parts):
        raise InputError(
            f"the network of {who} has no parameter to train: {len(parts)} in all, none with requires_grad"
        )
    odd = sorted({str(part.dtype) for part in parts if part.dtype != torch.float32})
    if odd:
        raise InputError(
            f"the parameters of the network of {who} must be torch.float32, as examples are; some are"
            f" {' and '.join(odd)}: return network.float()"
        )
    return made


def as_split(dealt: Any, n_clients: int, n_examples: int, who: str) -> list[NDArray[np.intp]]:
    """Return the positions of each client's examples; a client without any could not train."""
    parts = list(dealt) if isinstance(dealt, Iterable) else []
    if len(parts) != n_clients:
        got = len(parts) if isinstance(dealt, Iterable) else _spelt(dealt)
        raise InputError(f"{who} must return positions for each of {n_clients} clients; got {got}")
    return [_positions(part, n_examples, f"{who}, for client {client},") for client, part in enumerate(parts)]


def _positions(given: Any, n_examples: int, who: str) -> NDArray[np.intp]:
    own = _as_array(given)
    if own.dtype == bool and own.shape == (n_examples,):  # a mask means the same
        own = np.flatnonzero(own)
    if own.size == 0:
        raise InputError(f"{who} must return at least one position; got none")
    if own.ndim != 1 or own.dtype.kind not in "iu" or own.min() < 0 or own.max() >= n_examples:
        ends = f", from {own.min()} to {own.max()}" if own.dtype.kind in "iu" else ""
        raise InputError(
            f"{who} must return positions, whole numbers from 0 to {n_examples - 1}; got an array of shape"
            f" {own.shape} and type {own.dtype}{ends}"
        )
    return own.astype(np.intp)


def as_kept(kept: Any, who: str) -> Kept | None:
    """Return what a function keeps for its next round, as a checkpoint gives it back: arrays by name.

    None where that is nothing.
    """
    if not isinstance(kept, Mapping):
        raise InputError(f"{who} must keep arrays by name, in a dictionary; got {_spelt(kept)}")
    arrays = {str(name): _as_array(values) for name, values in kept.items()}
    for name, array in arrays.items():
        if array.dtype.kind not in "biufcSU":
            raise InputError(f"{who} must keep arrays; got {_spelt(kept[name])} as {name!r}")
    return arrays or None


def check_outputs(run: Run, model: nn.Module, data: Dataset) -> None:
    """Raise unless the network gives an example a score for every label of the data.

    A prediction of the user's own may read scores in another way.
    """
    if run.defence.predict.function not in (most_likely, confident):
        return
    device = next(model.parameters()).device
    try:
        with torch.no_grad():
            scores = copy.deepcopy(model).eval()(torch.from_numpy(data.x_test[:2]).to(device))
    except Exception as error:  # whatever a network may raise
        said = fault_in_own_code(error) or " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(
            f"the network cannot take examples of the shape {data.x_test.shape[1:]}: {said}"
        ) from error
    shape = tuple(getattr(scores, "shape", ()))
    if len(shape) != 2 or shape[1] < data.n_classes:
        raise InputError(
            f"the network must return a score for each of the labels 0 to {data.n_classes - 1}: the shape"
            f" (n_examples, {data.n_classes}) or wider; for {len(data.x_test[:2])} examples it returned"
            f" {shape}: give it {data.n_classes} outputs, or number the labels from 0 on without gaps"
        )


def as_backdoor(made: Any, data: Dataset, who: str) -> Backdoor:
    """Return what a function made as a backdoor for this data, its challenge in the type of the examples."""
    if not isinstance(made, Backdoor):
        raise InputError(f"{who} must return a Backdoor(target, poison, challenge); got {_spelt(made)}")
    check_whole(f"the target of {who}", made.target, at_least=0, at_most=data.n_classes - 1)
    n_inputs, whose = len(np.atleast_1d(_as_array(made.challenge))), f"{who}, as its challenge,"
    if n_inputs == 0:
        raise InputError(f"the challenge of {who} must have at least one input; got {_spelt(made.challenge)}")
    challenge = as_numbers(made.challenge, (n_inputs, *data.x_test.shape[1:]), whose)
    return replace(
        made,
        challenge=np.require(challenge, np.float32, ["C", "W"]),  # torch takes none that is read-only
        exposed=[_as_exposed(part, data, who) for part in made.exposed],
    )


def _as_exposed(part: Any, data: Dataset, who: str) -> tuple[Array, Array]:
    """Return the examples of an original that an honest client gets, and their labels."""
    x, y = part
    n = len(np.atleast_1d(_as_array(y)))
    examples = as_numbers(x, (n, *data.x_train.shape[1:]), f"{who}, as what is exposed,")
    return np.require(examples, np.float32, ["C", "W"]), as_labels(y, n, data, who, "exposes")


def as_labels(found: Any, n: int, data: Dataset, who: str, does: str) -> Array:
    """Return the labels of n examples that a backdoor "exposes" or "poisons", each one of the data's."""
    labels = as_numbers(found, (n,), f"{who}, as the labels of what it {does},")
    if not np.isin(labels, np.arange(data.n_classes)).all():
        raise InputError(
            f"the labels of what {who} {does} must be from 0 to {data.n_classes - 1}; got"
            f" {np.unique(labels).tolist()}"
        )
    return np.require(labels, np.int64, ["C", "W"])


def as_dataset(loaded: Any, who: str) -> Dataset:
    """Return what a function loaded, if it is a data set."""
    if not isinstance(loaded, Dataset):
        raise InputError(
            f"{who} must return a holdfast.lab.data.Dataset(x_train, y_train, x_test, y_test);"
            f" got {_spelt(loaded)}"
        )
    return loaded


def as_poison(found: Any, shape: tuple[int, ...], who: str) -> Array:
    """Return poisoned examples in the type of all examples; there may be none where nothing is to poison."""
    if _as_array(found).size == 0:
        found = np.empty((0, *shape[1:]))
        shape = found.shape
    return as_numbers(found, shape, who).astype(np.float32)


def as_numbers(found: Any, shape: tuple[int, ...], who: str) -> Array:
    """Return what a function returned as an array of this shape; its values may be anything, NaN too."""
    array = _as_array(found)
    if array.shape != shape or array.dtype.kind not in "biuf":
        raise InputError(f"{who} must return numbers of the shape {shape}; got {_spelt(found)}")
    return array


def check_finite(array: Array, what: str) -> None:
    """Raise if there is NaN in an array, or a number that is infinite."""
    if not np.isfinite(array.sum(dtype=np.float64)):
        raise InputError(f"{what} must be finite; it holds NaN or an infinite number")


def _as_array(found: Any) -> Array:
    try:
        return np.asarray(found)
    except ValueError:  # rows of several lengths
        return np.array(None)


def _spelt(found: Any) -> str:
    """Return a wrong value in a few words."""
    shape = getattr(found, "shape", None)
    if shape is not None:
        return f"an array of shape {tuple(shape)} and type {found.dtype}"
    return "None" if found is None else f"a value of type {type(found).__name__}"
