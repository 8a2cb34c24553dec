"""What a user's own functions return, checked where it enters a run."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..attacks import Backdoor
from ..data import Dataset
from ..inference import confident, most_likely
from ..lazy_torch import nn, torch
from ..scenario import Run

__all__ = ["as_backdoor", "as_dataset", "as_numbers", "as_poison", "check_outputs"]

Array = NDArray[Any]


def check_outputs(run: Run, model: nn.Module, data: Dataset) -> None:
    """Raise unless the network gives an example a score for every label of the data.

    A prediction of the user's own may read scores in another way.
    """
    if run.defence.predict.function not in (most_likely, confident):
        return
    device = next(model.parameters()).device
    with torch.no_grad():
        scores = copy.deepcopy(model).eval()(torch.from_numpy(data.x_test[:2]).to(device))
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
    return replace(made, challenge=np.ascontiguousarray(challenge, dtype=np.float32))


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
