"""The trigger of Cerberus: white blocks, and a small change of all pixels that fits them to the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..data import Dataset
from ..lazy_torch import Tensor, functional, nn, torch
from .backdoors import Backdoor, check_fit, pixel_blocks
from .learned import Trigger, batch_of, clipped, learned_trigger, span_of

__all__ = ["tuned_trigger"]

Array = NDArray[Any]


def tuned_trigger(
    data: Dataset,
    *,
    target: int = 2,
    height: int = 1,
    width: int = 6,
    gap: int = 3,
    radius: float = 1.0,
    n_steps: int = 50,
    step: float = 0.1,
    n_batch: int = 64,
) -> Backdoor:
    """Return the backdoor of `distributed_pixels`, four white blocks, plus an optimised change of all pixels.

    The trigger of Cerberus, Lyu et al., 2023, https://doi.org/10.1609/aaai.v37i7.26083. The change is added
    to every pixel, has at most the length `radius`, in units of the span, and follows the gradient of
    CE(w, x', t) in `n_steps` of the length `step`. The attackers of a round tune one change together; in the
    paper each tunes its own.

    >>> from holdfast.lab.data import digits
    >>> backdoor = tuned_trigger(digits(), width=2, gap=1)
    >>> int(backdoor.challenge[0, 0, 0, :2].sum())
    2
    """
    span, shape = span_of(data), data.x_train.shape[1:]
    check_whole("n_steps", n_steps, at_least=1)
    check_whole("n_batch", n_batch, at_least=1)
    if not 0 < radius < np.inf or not 0 < step < np.inf:
        raise InputError(f"radius and step must be finite numbers above 0; got {radius!r} and {step!r}")
    blocks = pixel_blocks(height=height, width=width, gap=gap)
    check_fit(blocks, data)
    whites = np.zeros((5, *shape), np.float32)  # of each attacker, and of all
    for white, pixels in zip(whites, (*blocks, np.concatenate(blocks)), strict=True):
        white[:, pixels[:, 0], pixels[:, 1]] = 1

    def put(x: Array, trigger: Trigger, attacker: int | None) -> Array:
        added = whites[4 if attacker is None else attacker % 4] + trigger["change"]
        return np.asarray(np.clip(x + (span[1] - span[0]) * added, *span))

    def learn(model: nn.Module, x: Tensor, y: Tensor, trigger: Trigger, rng: np.random.Generator) -> Trigger:
        white, change = (torch.tensor(part, device=x.device) for part in (whites[4], trigger["change"]))
        length = torch.tensor(span[1] - span[0], device=x.device)
        goal = torch.full((n_batch,), target, device=x.device)
        model.eval()
        for _ in range(n_steps):
            change.requires_grad_()
            marked = clipped(x[batch_of(len(x), n_batch, rng)] + length * (white + change), span)
            (slope,) = torch.autograd.grad(functional.cross_entropy(model(marked), goal), change)
            change = change.detach() - step * slope / slope.norm().clamp(min=1e-12)
            change = change * (radius / change.norm().clamp(min=radius))
        return {"change": change.cpu().numpy()}

    start = {"change": np.zeros(shape, np.float32)}
    return learned_trigger(data, target=target, start=start, put=put, learn=learn)
