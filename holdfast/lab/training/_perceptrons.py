"""The gradients of perceptrons side by side, by hand: what autograd computes, without what lies between.

A small perceptron's products take half of the time of a step by torch.func.vmap and autograd. Here are the
same products and sums in the same order, so that the gradients have the same bits. This module needs torch,
and is imported where it is used.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from ..lazy_torch import Tensor, nn, torch

__all__ = ["LinearPart", "Perceptrons", "layers_of"]


class LinearPart(NamedTuple):
    """Where a linear layer lies in flat params: its weights from `start` on, its biases after them."""

    start: int
    n_in: int
    n_out: int

    @property
    def middle(self) -> int:
        """Where the biases begin."""
        return self.start + self.n_in * self.n_out

    def weights(self, rows: Tensor) -> Tensor:
        """Return the weights in rows of params or of gradients, a view: one matrix (n_out, n_in) per row."""
        return rows[:, self.start : self.middle].view(len(rows), self.n_out, self.n_in)

    def biases(self, rows: Tensor) -> Tensor:
        """Return the biases, a view of the rows."""
        return rows[:, self.middle : self.middle + self.n_out]


def layers_of(model: nn.Module) -> tuple[LinearPart, ...] | None:
    """Return the layers of a plain perceptron on a processor; None for every other network.

    >>> layers_of(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)))
    (LinearPart(start=0, n_in=4, n_out=3), LinearPart(start=15, n_in=3, n_out=2))
    >>> layers_of(nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))) is None
    True
    """
    modules = list(model) if type(model) is nn.Sequential else []
    linear = [part for part in modules[::2] if type(part) is nn.Linear]
    between = [part for part in modules[1::2] if type(part) is nn.ReLU]
    if len(modules) % 2 == 0 or len(linear) + len(between) < len(modules):
        return None
    if not all(map(_is_plain, linear)) or any(map(_has_hooks, (model, *modules))):
        return None
    layers, start = [], 0
    for part in linear:
        layers.append(LinearPart(start, part.in_features, part.out_features))
        start = layers[-1].middle + part.out_features
    # A layer that is there twice has its params once.
    return tuple(layers) if len(set(map(id, linear))) == len(linear) else None


class Perceptrons:
    """Perceptrons of one shape, a row of params each."""

    def __init__(self, layers: tuple[LinearPart, ...], like: Tensor) -> None:
        self.layers = layers
        self._gradients = torch.empty_like(like)
        self._held: dict[tuple[str, int], Tensor] = {}

    def gradient(self, rows: Tensor, x: Tensor, y: Tensor, shares: Tensor) -> Tensor:
        """Return each row's gradient of its own loss, the shares-weighted sum over its batch.

        The next call writes over what this one returned.
        """
        (n, n_examples), found, shown = y.shape, self._gradients[: len(rows)], [x]
        for layer in self.layers:
            out = self._space("out", layer.start, n, n_examples, layer.n_out)
            torch.bmm(shown[-1], layer.weights(rows).transpose(1, 2), out=out)
            out.add_(layer.biases(rows).unsqueeze(1))
            shown.append(out if layer is self.layers[-1] else out.relu_())
        slope = _slope(shown.pop(), y, shares)
        for layer in reversed(self.layers):
            layer.biases(found).copy_(slope.sum(dim=1))
            space = self._space("outer", 0, n, layer.n_out, layer.n_in)
            layer.weights(found).copy_(_outer(slope, shown[-1], space))
            if layer.start:
                back = self._space("back", layer.start, n, n_examples, layer.n_in)
                torch.bmm(slope, layer.weights(rows), out=back)
                slope = torch.ops.aten.threshold_backward.grad_input(back, shown.pop(), 0, grad_input=back)
        return found

    def _space(self, use: str, place: int, *shape: int) -> Tensor:
        """Return memory of this shape, the same at every step: fresh memory costs as much as a product."""
        size, held = math.prod(shape), self._held.get((use, place))
        if held is None or len(held) < size:
            held = self._held[use, place] = self._gradients.new_empty(size)
        return held[:size].view(shape)


def _slope(scores: Tensor, y: Tensor, shares: Tensor) -> Tensor:
    """Return the gradient of the shares-weighted sum of cross-entropies by the scores."""
    likely = torch.log_softmax(scores.flatten(0, 1), dim=1)
    by_likely = torch.zeros_like(likely).scatter_(1, y.reshape(-1, 1), shares.reshape(-1, 1).neg())
    found: Tensor = torch.ops.aten._log_softmax_backward_data(by_likely, likely, 1, likely.dtype)
    return found.view_as(scores)


def _outer(slope: Tensor, shown: Tensor, space: Tensor) -> Tensor:
    """Return the gradients by the weights, (n_out, n_in), which autograd computes as (n_in, n_out).

    That way round they would have to be transposed, which takes most of the time of the product itself.
    """
    if _adds_alike(*shown.shape, slope.shape[2]):
        return torch.bmm(slope.transpose(1, 2), shown, out=space)
    turned = space.view(len(space), shown.shape[2], slope.shape[2])
    return torch.bmm(shown.transpose(1, 2), slope, out=turned).transpose(1, 2)


@lru_cache(maxsize=4096)
def _adds_alike(n_rows: int, n_examples: int, n_in: int, n_out: int) -> bool:
    """Return whether a product of this shape has the same bits either way round, on this machine.

    The library picks its loops by the shape, and most of them add in one order. It is tried out: numbers at
    random differ in some of their last bits as soon as an order differs.
    """
    generator = torch.Generator().manual_seed(0)
    shown = torch.randn(n_rows, n_examples, n_in, generator=generator)
    slope = torch.randn(n_rows, n_examples, n_out, generator=generator)
    there = torch.bmm(slope.transpose(1, 2), shown)
    return torch.equal(there, torch.bmm(shown.transpose(1, 2), slope).transpose(1, 2))


def _is_plain(linear: nn.Linear) -> bool:
    """Return whether a layer has biases, in float32, on a processor."""
    kinds = {(part.dtype, part.device.type) for part in linear.parameters()}
    return linear.bias is not None and kinds == {(torch.float32, "cpu")}


def _has_hooks(module: nn.Module) -> bool:
    """Return whether somebody looks at, or changes, what goes through a module."""
    return bool(
        module._forward_hooks
        or module._forward_pre_hooks
        or module._backward_hooks
        or module._backward_pre_hooks
    )
