"""What a user's own functions return, checked where it enters a run."""

from __future__ import annotations

import copy

from ...errors import InputError
from ..data import Dataset
from ..lazy_torch import nn, torch

__all__ = ["check_outputs"]


def check_outputs(model: nn.Module, data: Dataset) -> None:
    """Raise unless the network gives an example a score for every label of the data."""
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
