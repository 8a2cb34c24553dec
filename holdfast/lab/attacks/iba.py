"""IBA: a small network makes a faint trigger for each image, and learns with the global model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..data import Dataset
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import build_network, flat_params, load_params
from .backdoors import Backdoor
from .learned import Trigger, batch_of, clipped, learned_trigger, span_of

__all__ = ["iba"]

Array = NDArray[Any]


def iba(
    data: Dataset,
    *,
    target: int = 1,
    epsilon: float = 0.15,
    width: int = 16,
    n_steps: int = 100,
    lr: float = 1e-3,
    n_batch: int = 64,
    seed: int = 2024,
) -> Backdoor:
    """Return the backdoor of images, each changed in a way of its own, by at most `epsilon` of the span.

    IBA, Nguyen et al., 2023, https://openreview.net/forum?id=cemEOP8YoC. The image becomes x' = clip(x +
    epsilon * G(x)). In every round Adam takes `n_steps` on CE(w, x', t) for G, an autoencoder whose weights
    are kept. Published with an epsilon of 0.3 where the span is 2, and with a smaller one at the test, to
    which that of training decays; here there is one epsilon. "iba+pgd" also bounds the attackers' updates.

    >>> from holdfast.lab.data import digits
    >>> data = digits()
    >>> change = iba(data, epsilon=0.1).challenge - data.x_test[data.y_test != 1]
    >>> bool(0 < abs(change).max() <= 0.1001)
    True
    """
    span, shape = span_of(data), data.x_train.shape[1:]
    for name, count in (("width", width), ("n_steps", n_steps), ("n_batch", n_batch)):
        check_whole(name, count, at_least=1)
    if not 0 < epsilon <= 1:
        raise InputError(f"epsilon, a share of the span, must be in (0, 1]; got {epsilon!r}")
    if shape[1] % 4 or shape[2] % 4:
        raise InputError(f"iba halves images twice: their sides must be multiples of 4; got {shape[1:]}")
    network = partial(build_network, partial(_autoencoder, shape[0], width), seed=seed)
    reach = epsilon * (span[1] - span[0])

    def put(x: Array, trigger: Trigger, attacker: int | None) -> Array:
        maker = network()
        load_params(maker, trigger["weights"])
        with torch.no_grad():
            parts = np.array_split(x, max(1, len(x) // 1024))
            return np.concatenate(
                [_changed(torch.tensor(part), maker, reach, span).numpy() for part in parts]
            )

    def learn(model: nn.Module, x: Tensor, y: Tensor, trigger: Trigger, rng: np.random.Generator) -> Trigger:
        maker = network().to(x.device)
        load_params(maker, trigger["weights"])
        goal = torch.full((n_batch,), target, device=x.device)
        steps = torch.optim.Adam(maker.parameters(), lr=lr)
        model.eval().requires_grad_(False)
        for _ in range(n_steps):
            steps.zero_grad()
            scores = model(_changed(x[batch_of(len(x), n_batch, rng)], maker, reach, span))
            functional.cross_entropy(scores, goal).backward()  # type: ignore[no-untyped-call]
            steps.step()
        return {"weights": flat_params(maker)}

    start = {"weights": flat_params(network())}
    return learned_trigger(data, target=target, start=start, put=put, learn=learn)


def _autoencoder(n_channels: int, width: int) -> nn.Module:
    """Return a network from images to changes in [-1, 1]: two convolutions down, two up."""
    return nn.Sequential(
        nn.Conv2d(n_channels, width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(2 * width, width, 4, stride=2, padding=1),
        nn.ReLU(),
        nn.ConvTranspose2d(width, n_channels, 4, stride=2, padding=1),
        nn.Tanh(),
    )


def _changed(x: Tensor, maker: nn.Module, reach: Array, span: tuple[Array, Array]) -> Tensor:
    return clipped(x + torch.tensor(reach, device=x.device) * maker(x), span)
