"""FLIP: honest clients invert the triggers that the global model falls for, and train it not to.

`flip` is the published method, `flip_compact` a form of it for a small budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import load_params, named_buffers
from .batched import batched_sgd
from .local import sgd, train_each
from .schedule import Array, Shard, Trained
from .triggers import FEWEST, Span, Triggers, as_tensors, draw_triggers, invert_triggers, stamp

__all__ = ["flip", "flip_compact"]


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
    """
    check_whole("n_warm_up", n_warm_up, at_least=0)
    steps = {"n_first_steps": n_first_steps, "n_pair_steps": n_pair_steps, "n_again_steps": n_again_steps}
    for name, count in {"n_pairs": n_pairs, "n_batch": n_batch, **steps}.items():
        check_whole(name, count, at_least=1)
    for name, share in (("stamped", stamped), ("random_pairs", random_pairs)):
        if not 0 <= share <= 1:
            raise InputError(f"{name} is a share, in [0, 1]; got {share!r}")

    def train(shard: Shard) -> dict[str, Array]:
        client = _Client(model, shard, span)
        optimiser = torch.optim.Adam(model.parameters(), lr=lr, betas=(0.5, 0.9))
        for number in range(n_warm_up + n_pairs):
            pair = client.next_class(number) if number < n_warm_up else client.next_pair(random_pairs)
            if pair is not None:
                first = n_first_steps if pair[0] == pair[1] else n_pair_steps
                client.invert(*pair, n_steps=n_again_steps if client.knows(*pair) else first, n_shown=n_batch)
            x, y = client.batch(pair, n_batch, stamped)
            model.train()
            optimiser.zero_grad()
            functional.cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        return client.memory

    return train_each(model, params, shards, train)


def flip_compact(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    span: Span,
    lr: float = 0.1,
    momentum: float = 0.0,
    n_inversion_steps: int = 30,
    n_shown: int = 16,
    stamped: float = 0.5,
) -> Trained:
    """Return the updates of SGD with a share of every batch stamped by inverted triggers, correctly labelled.

    After Zhang et al., 2023, https://arxiv.org/abs/2210.12873, for a small budget. A client seeks, on at most
    `n_shown` of its examples, one trigger per class that turns all others into it, from where it ended in its
    last round.
    """
    check_whole("n_inversion_steps", n_inversion_steps, at_least=1)
    check_whole("n_shown", n_shown, at_least=1)
    if not 0 <= stamped <= 1:
        raise InputError(f"stamped is a share of a batch, in [0, 1]; got {stamped!r}")
    before = named_buffers(model)
    load_params(model, params, before)
    hardened, memory = [], []
    for shard in shards:
        generator = torch.Generator().manual_seed(shard.seed)
        triggers = _triggers(model, shard, span, n_inversion_steps, n_shown, generator)
        hardened.append(_stamped(model, shard, triggers, stamped, generator))
        memory.append(triggers.memory)
    if before or len(shards) == 1:
        trained = sgd(model, params, hardened, lr=lr, momentum=momentum)
    else:
        trained = Trained(batched_sgd(model, params, hardened, lr=lr, momentum=momentum))
    return trained._replace(memory=tuple(memory))


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


def _triggers(
    model: nn.Module, shard: Shard, span: Span, n_steps: int, n_shown: int, generator: torch.Generator
) -> Triggers:
    """Return one trigger per class, sought on some of the client's examples."""
    x, y, span = as_tensors(model, shard, span)
    shown = torch.randperm(len(y), generator=generator)[:n_shown].to(x.device)
    with torch.no_grad():
        n_classes = model.eval()(x[:1]).shape[1]
    targets = torch.arange(n_classes, device=x.device)
    start = draw_triggers(n_classes, x[0], span=span, generator=generator)
    if shard.memory is not None:
        start = Triggers(*(torch.from_numpy(shard.memory[name]).to(x.device) for name in Triggers._fields))
    eligible = y[shown] != targets[:, None]
    found = invert_triggers(model, x[shown], targets, eligible, start, span=span, n_steps=n_steps)
    return found._replace(works=found.works & (eligible.sum(dim=1) > FEWEST))


def _stamped(
    model: nn.Module, shard: Shard, triggers: Triggers, share: float, generator: torch.Generator
) -> Shard:
    """Return the shard's batches written out, some examples of each with a trigger of another class."""
    device = triggers.masks.device
    positions = torch.from_numpy(shard.batches[shard.batches >= 0]).to(device)
    x, y = (part[positions] for part in shard.on(model))
    sizes = (shard.batches >= 0).sum(axis=1).tolist()
    is_chosen = torch.cat([torch.randperm(size, generator=generator) < round(share * size) for size in sizes])
    labels, usable = y.cpu(), triggers.usable.cpu()
    fitting = usable & (torch.arange(len(usable)) != labels[:, None])
    at = torch.nonzero(is_chosen & fitting.any(dim=1)).flatten()
    if len(at):
        targets = torch.multinomial(fitting[at].float(), 1, generator=generator).flatten().to(device)
        at = at.to(device)
        x[at] = stamp(x[at], triggers.masks[targets], triggers.patterns[targets])
    batches = np.full_like(shard.batches, -1)
    batches[shard.batches >= 0] = np.arange(len(y))
    return shard._replace(x=x, y=y, batches=batches)
