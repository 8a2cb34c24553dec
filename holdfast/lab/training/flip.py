"""FLIP: honest clients invert the triggers that the global model falls for, and train it not to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from .local import train_each
from .schedule import Array, Shard, Trained
from .triggers import FEWEST, Span, Triggers, as_tensors, draw_triggers, invert_triggers, stamp

__all__ = ["flip"]


def flip(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    span: Span,
    lr: float = 1e-3,
    n_warm_up: int = 10,
    n_pairs: int = 100,
    n_first_steps: int = 600,
    n_pair_steps: int = 200,
    n_again_steps: int = 75,
    n_batch: int = 128,
    stamped: float = 0.9,
    random_pairs: float = 0.3,
) -> Trained:
    """Return the updates of Adam's steps on batches stamped by inverted triggers, correctly labelled.

    Zhang et al., 2023, https://arxiv.org/abs/2210.12873. Each step inverts a trigger on the model as it is by
    then: at first one for a whole class, in `n_first_steps`, then one for a pair of classes, in
    `n_pair_steps`; one that the client knows already, in `n_again_steps`. A share of the pairs is drawn;
    otherwise the pair whose mask changed most is taken. A client that has 5 examples or fewer of every class
    stays with triggers for whole classes.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((8, 2), np.float32), np.zeros(8, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model, few = mlp(sizes=(2, 2)), {"n_warm_up": 1, "n_pairs": 1, "n_first_steps": 5, "n_pair_steps": 5}
    >>> trained = flip(model, flat_params(model), [shard], span=(-3.0, 3.0), **few)
    >>> trained.updates.shape, trained.memory[0]["masks"].shape
    ((1, 6), (4, 2))
    """
    counts = {
        "n_warm_up": n_warm_up,
        "n_pairs": n_pairs,
        "n_first_steps": n_first_steps,
        "n_pair_steps": n_pair_steps,
        "n_again_steps": n_again_steps,
        "n_batch": n_batch,
    }
    for name, count in counts.items():
        check_whole(name, count, at_least=0 if name == "n_warm_up" else 1)
    for name, share in (("stamped", stamped), ("random_pairs", random_pairs)):
        if not 0 <= share <= 1:
            raise InputError(f"{name} is a share, in [0, 1]; got {share!r}")

    def train(shard: Shard) -> dict[str, Array]:
        client = _Client(model, shard, span)
        steps = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.5, 0.9))
        for number in range(n_warm_up + n_pairs):
            pair = client.next_class(number) if number < n_warm_up else client.next_pair(random_pairs)
            if pair is not None:
                first = n_first_steps if pair[0] == pair[1] else n_pair_steps
                client.invert(*pair, n_steps=n_again_steps if client.knows(*pair) else first, n_shown=n_batch)
            x, y = client.batch(pair, n_batch, stamped)
            model.train()
            steps.zero_grad()
            functional.cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
            steps.step()
        return client.memory

    return train_each(model, params, shards, train)


class _Client:
    """A client's examples, and the triggers it knows.

    Row source * n_classes + target is for that pair; where both are one class, for all other classes.
    """

    def __init__(self, model: nn.Module, shard: Shard, span: Span) -> None:
        self.model, self.generator = model, torch.Generator().manual_seed(shard.seed)
        self.x, self.y, self.span = as_tensors(model, shard, span)
        with torch.no_grad():
            self.n_classes = model.eval()(self.x[:1]).shape[1]
        n_rows = self.n_classes**2
        self.triggers = draw_triggers(n_rows, self.x[0], span=self.span, generator=self.generator)
        self.changes = torch.full((n_rows,), torch.inf)  # of a mask's size, when it was last sought
        if shard.memory is not None:
            kept = {name: torch.from_numpy(part.copy()) for name, part in shard.memory.items()}
            self.changes = kept.pop("changes")
            self.triggers = Triggers(**{name: part.to(self.x.device) for name, part in kept.items()})
        counts = torch.bincount(self.y, minlength=self.n_classes).tolist()
        classes = torch.randperm(self.n_classes, generator=self.generator).tolist()
        self.classes = [(c, c) for c in classes if len(self.y) - counts[c] > FEWEST]
        pairs = [(a, b) for a in classes for b in classes if a != b and counts[a] > FEWEST]
        self.pairs = pairs or self.classes

    @property
    def memory(self) -> dict[str, Array]:
        """What the client keeps for its next round."""
        return {**self.triggers.memory, "changes": self.changes.numpy()}

    def knows(self, source: int, target: int) -> bool:
        """Return whether this trigger has been sought before."""
        return bool(self.changes[source * self.n_classes + target] < torch.inf)

    def next_class(self, number: int) -> tuple[int, int] | None:
        """Return whole classes one after the other."""
        return self.classes[number % len(self.classes)] if self.classes else None

    def next_pair(self, random_pairs: float) -> tuple[int, int] | None:
        """Return a random pair, or the one whose mask changed most; those never sought come first."""
        if not self.pairs:
            return None
        if float(torch.rand(1, generator=self.generator)) < random_pairs:
            return self.pairs[int(torch.randint(len(self.pairs), (1,), generator=self.generator))]
        return max(self.pairs, key=lambda pair: float(self.changes[pair[0] * self.n_classes + pair[1]]))

    def invert(self, source: int, target: int, *, n_steps: int, n_shown: int) -> None:
        """Seek the trigger that turns examples of the source into the target, on the model as it is now."""
        row, whole = source * self.n_classes + target, target * (self.n_classes + 1)
        begin = whole if self.knows(target, target) and not self.knows(source, target) else row
        start = Triggers(*(part[begin : begin + 1] for part in self.triggers))
        x = self.x[self._eligible(self.y, source, target)]
        shown = x[torch.randperm(len(x), generator=self.generator)[:n_shown].to(x.device)]
        all_count = torch.ones(1, len(shown), dtype=torch.bool, device=x.device)
        targets = torch.tensor([target], device=x.device)
        found = invert_triggers(self.model, shown, targets, all_count, start, span=self.span, n_steps=n_steps)
        for kept, new in zip(self.triggers, found, strict=True):
            kept[row] = new[0]
        self.changes[row] = (found.sizes - start.sizes).abs().cpu()[0]

    def batch(self, pair: tuple[int, int] | None, size: int, share: float) -> tuple[Tensor, Tensor]:
        """Return random examples, a share of those that the pair's trigger is for stamped with it."""
        drawn_at = torch.randperm(len(self.y), generator=self.generator)[:size].to(self.y.device)
        x, y = self.x[drawn_at], self.y[drawn_at]
        if pair is None:
            return x, y
        row = pair[0] * self.n_classes + pair[1]
        if not self.triggers.usable[row]:
            return x, y
        at = torch.nonzero(self._eligible(y, *pair)).flatten()
        at = at[: round(share * len(at))]  # the batch is in random order
        x[at] = stamp(x[at], self.triggers.masks[row], self.triggers.patterns[row])
        return x, y

    @staticmethod
    def _eligible(y: Tensor, source: int, target: int) -> Any:
        return y != target if source == target else y == source
