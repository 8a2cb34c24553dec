"""Triggers, and their inversion: the smallest change to inputs that a network takes for a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar

from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from .schedule import Shard

__all__ = ["FEWEST", "Span", "Triggers", "as_tensors", "draw_triggers", "invert_triggers", "stamp"]

Values = TypeVar("Values", Tensor, NDArray[Any])
Span = tuple[Any, Any]  # the lowest and the highest values of an example, in shapes that broadcast to it

REACHED = 0.85  # share of the examples that a trigger must send to its class
FEWEST = 5  # examples or fewer tell nothing of a trigger
LARGEST = 0.25  # share of an example that a trigger may cover; what covers more is another example
PATIENCE = 10  # steps in a row with one outcome, until the price of a mask changes
PRICE = 1.024  # of a mask over all of an example, at first: the published 1e-3 per pixel of 32 x 32
RISE = 1.5  # of the price; it falls by RISE ** 1.5
MARGIN = 0.01  # how far from its bounds a search starts: at a bound, tanh has no slope


def stamp(x: Values, mask: Values, pattern: Values) -> Values:
    """Return the examples with the pattern where the mask is 1, themselves where it is 0, both in between."""
    stamped: Values = (1 - mask) * x + mask * pattern
    return stamped


class Triggers(NamedTuple):
    """One trigger per row: its mask, its pattern, and whether it works. A mask for images has one channel."""

    masks: Tensor
    patterns: Tensor
    works: Tensor

    @property
    def sizes(self) -> Tensor:
        """The share of an example that each covers."""
        return self.masks.flatten(1).mean(dim=1)

    @property
    def usable(self) -> Tensor:
        """Which work, and are small enough to be triggers."""
        return self.works & (self.sizes <= LARGEST)

    @property
    def memory(self) -> dict[str, NDArray[Any]]:
        """What a client keeps of them for its next round."""
        return {name: part.cpu().numpy() for name, part in self._asdict().items()}


def as_tensors(model: nn.Module, shard: Shard, span: Span) -> tuple[Tensor, Tensor, Span]:
    """Return a client's examples, their labels and the span as tensors where the network is."""
    x, y = shard.on(model)
    low, high = (torch.as_tensor(bound, dtype=torch.float32, device=x.device) for bound in span)
    return x, y, (low, high)


def draw_triggers(count: int, example: Tensor, *, span: Span, generator: torch.Generator) -> Triggers:
    """Return random triggers for examples like this one, for a search to start from."""
    low, high = span
    shape = example.shape if example.ndim == 1 else (1, *example.shape[1:])
    masks = torch.rand(count, *shape, generator=generator).to(example.device)
    patterns = torch.rand(count, *example.shape, generator=generator).to(example.device)
    works = torch.zeros(count, dtype=torch.bool, device=example.device)
    return Triggers(masks, low + (high - low) * patterns, works)


def invert_triggers(
    model: nn.Module,
    x: Tensor,
    targets: Tensor,
    eligible: Tensor,
    start: Triggers,
    *,
    span: Span,
    n_steps: int,
) -> Triggers:
    """Return for each target the smallest trigger met that sends the eligible examples to it.

    Adam minimises cross-entropy + price * mean(mask), and the price rises while the trigger works and falls
    while it does not. All targets are sought side by side; `eligible[k, i]` says whether example i counts for
    target k. Where nothing worked, the last trigger is returned.
    """
    leaves = [part.requires_grad_() for part in _logits(start, span)]
    steps = torch.optim.Adam(leaves, lr=0.1, betas=(0.5, 0.9))
    shares = eligible / eligible.sum(dim=1, keepdim=True).clamp(min=1)
    labels = targets[:, None].expand(-1, len(x))
    price, streak = torch.full_like(shares[:, 0], PRICE), torch.zeros_like(targets)
    best = start._replace(works=torch.zeros_like(start.works))
    model.eval()
    for _ in range(n_steps):
        masks, patterns = _squashed(leaves, span)
        scores = model(stamp(x, masks[:, None], patterns[:, None]).flatten(0, 1))
        losses = functional.cross_entropy(scores, labels.flatten(), reduction="none").view(labels.shape)
        loss = (losses * shares).sum() + (price * masks.flatten(1).mean(dim=1)).sum()
        for leaf, slope in zip(leaves, torch.autograd.grad(loss, leaves, allow_unused=True), strict=True):
            if slope is None:
                raise InputError("no gradient reaches this network's input, so no trigger can be inverted")
            leaf.grad = slope
        right = scores.detach().argmax(dim=1).view(labels.shape) == labels
        works = (right * shares).sum(dim=1) >= REACHED
        best = _better(best, Triggers(masks.detach(), patterns.detach(), works))
        streak = torch.where(works, streak.clamp(min=0) + 1, streak.clamp(max=0) - 1)
        price = torch.where(streak == PATIENCE, price * RISE, price)
        price = torch.where(streak == -PATIENCE, price / RISE**1.5, price)
        streak = torch.where(streak.abs() == PATIENCE, 0, streak)
        steps.step()
    return best


def _logits(start: Triggers, span: Span) -> list[Tensor]:
    """Return the numbers whose tanh is the mask and the pattern."""
    low, high = span
    shares = start.masks, (start.patterns - low) / (high - low)
    return [torch.atanh(2 * share.clamp(MARGIN, 1 - MARGIN) - 1) for share in shares]


def _squashed(leaves: Sequence[Tensor], span: Span) -> tuple[Tensor, Tensor]:
    low, high = span
    masks, patterns = ((torch.tanh(leaf) + 1) / 2 for leaf in leaves)
    return masks, low + (high - low) * patterns


def _better(best: Triggers, now: Triggers) -> Triggers:
    """Return the triggers now where they work and the best so far does not, or is larger."""
    wins = torch.where(now.works, ~best.works | (now.sizes < best.sizes), ~best.works)
    pairs = zip(now, best, strict=True)
    return Triggers(*(torch.where(wins.view(-1, *[1] * (new.ndim - 1)), new, old) for new, old in pairs))
