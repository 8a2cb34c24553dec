"""FLIP for a small budget: a client inverts one trigger per class, and trains on stamped examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import nn, torch
from ..models import load_params, named_buffers
from .batched import batched_sgd
from .local import sgd
from .schedule import Shard, Trained
from .triggers import FEWEST, Span, Triggers, as_tensors, draw_triggers, invert_triggers, stamp

__all__ = ["flip_compact"]


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

    After FLIP, Zhang et al., 2023, https://arxiv.org/abs/2210.12873. A client seeks, on at most `n_shown` of
    its examples, one trigger per class that turns all others into it, from where it ended in its last round.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((8, 2), np.float32), np.zeros(8, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> trained = flip_compact(model, flat_params(model), [shard], span=(-3.0, 3.0))
    >>> trained.updates.shape, trained.memory[0]["masks"].shape
    ((1, 6), (2, 2))
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
