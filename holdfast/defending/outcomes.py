"""What comes out of a round: the model moved, as it was, or as it was at the start, and what to say of it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..aggregators import fedavg
from ..aggregators.buffers import combined_buffers, difference
from ..core import Aggregate, Memory, Rule
from ..core.diagnostics import Diagnostics
from ..updates.layout import Layer, Layout, NotFiniteError, all_finite, moved, widened
from ..watching import Verdicts, Watched
from .screening import Screened

__all__ = ["Apply", "Defended", "applied", "log_attention", "rewound", "start_kept", "unchanged"]

log = logging.getLogger("holdfast.rounds")
verdict_log = logging.getLogger("holdfast.verdicts")

#: Makes the next model of an update and the next buffers.
Apply = Callable[[Any, Mapping[str, Any]], Any]


@dataclass(frozen=True, eq=False)
class Defended:
    """What came out of a round: the next global model, and what there is to say about it.

    `model` and `update` have the form of the server's model; the update is how far the model has moved. If
    nothing was aggregated, the model is the old one, the update zero, and the state as it was. Pass `state`
    to the next round.

    >>> from holdfast import defend, median
    >>> result = defend(np.array([[1.0], [2.0], [9.0]]), median, like=np.array([5.0]))
    >>> result.model, result.update
    (array([7.]), array([2.]))
    """

    model: Any
    update: Any
    state: Memory
    diagnostics: Diagnostics
    buffers: Mapping[str, Any] = field(default_factory=dict)  # their next values; they are in the model, too
    verdicts: Verdicts | None = None  # of the watch, on all clients that were ever heard


def applied(bound: Rule, found: Screened, result: Aggregate, before: Memory, apply: Apply | None) -> Defended:
    """Return the round's outcome: the model moved by the update, its buffers replaced."""
    layout = found.rows.layout
    steps = layout.accept(result.update) if apply is None else ()
    buffers = combined_buffers(
        found.buffers,
        base=found.own_buffers,
        weights=found.weights,
        averaged=bound.function is fedavg.function,
    )
    model, update = None, result.update
    if apply is not None:
        model = apply(update, buffers)
    elif not found.params:  # updates alone: there is no model to move
        if not all(all_finite(step) for step in steps):
            raise NotFiniteError
    else:
        assert found.form is not None
        model = found.form.joined(_moved_layers(layout, found.params, steps), buffers)
        changes = {name: difference(new, found.own_buffers[name]) for name, new in buffers.items()}
        update = found.form.joined([update] if layout.is_single else update, changes)
    previous = layout.flat(result.update, name="update") if bound.needs("previous") else None
    memory = replace(before, rule=result.state, previous=previous)
    assert result.diagnostics is not None
    return Defended(model, update, memory, _told(bound, found, result.diagnostics), buffers)


def _moved_layers(layout: Layout, own: Sequence[Any], steps: Sequence[Any]) -> list[Any]:
    """Return the server's parameters moved by the update, layer by layer."""
    wide = layout.compute_dtype
    return [
        layer.wrapped(moved(old.reshape(-1), widened(step.reshape(-1), wide), layer.type_name))
        for layer, old, step in zip(layout.layers, own, steps, strict=True)
    ]


def unchanged(
    bound: Rule,
    found: Screened,
    memory: Memory,
    why: str,
    apply: Apply | None = None,
    *,
    is_expected: bool = False,
) -> Defended:
    """Return the old model and a zero update, with the reason in log and diagnostics."""
    if found.dropped and not is_expected:
        why += f", after {len(found.dropped)} {'was' if len(found.dropped) == 1 else 'were'} dropped"
    level = logging.INFO if is_expected else logging.ERROR
    log.log(level, "%s did not aggregate, the model stays as it is: %s", bound.name, why)
    layout, form = found.rows.layout, found.form
    update = layout.restored(np.zeros(layout.dim, dtype=layout.compute_dtype))
    buffers = combined_buffers((), base=found.own_buffers)
    model = None if apply is None else apply(None, {})
    if form is not None and found.params:
        old = [
            layer.wrapped(np.array(own.reshape(-1)))
            for layer, own in zip(layout.layers, found.params, strict=True)
        ]
        model = form.joined(old, buffers)
        still = {name: difference(same, same) for name, same in buffers.items()}
        update = form.joined([update] if layout.is_single else update, still)
    said = Diagnostics(rule=bound.name, clients=(), aggregated=False, notes=(why,))
    return Defended(model, update, memory, _told(bound, replace(found, clients=()), said), buffers)


def start_kept(found: Screened, memory: Memory, watched: Watched) -> Any:
    """Return the model from before anything was applied, as long as there may be a rewind to it."""
    if not watched.may_rewind or not found.params:
        return None
    if memory.start is not None:
        return memory.start
    wide = found.rows.layout.compute_dtype
    buffers = {
        f"buffers.{name}": np.array(Layer.read(own, floats_only=False)[1])
        for name, own in found.own_buffers.items()
    }
    return {"params": np.concatenate([widened(own.reshape(-1), wide) for own in found.params]), **buffers}


def rewound(bound: Rule, found: Screened, memory: Memory) -> Defended:
    """Return the model from before anything was applied; the rule starts anew, too."""
    assert found.form is not None
    layout, wide = found.rows.layout, found.rows.layout.compute_dtype
    verdict_log.warning("back to the start: clients who had a say since then are expelled")
    start = np.split(memory.start["params"].copy(), layout.offsets[1:-1])
    with np.errstate(over="ignore"):
        steps = [new - widened(own.reshape(-1), wide) for new, own in zip(start, found.params, strict=True)]
    params, moves = (
        [layer.restored(values) for layer, values in zip(layout.layers, flat, strict=True)]
        for flat in (start, steps)
    )
    buffers = {
        name: Layer.read(own, floats_only=False)[0].wrapped(memory.start[f"buffers.{name}"].copy())
        for name, own in found.own_buffers.items()
    }
    changes = {name: difference(new, found.own_buffers[name]) for name, new in buffers.items()}
    said = Diagnostics(
        rule=bound.name,
        clients=(),
        aggregated=False,
        notes=("back to the start: clients who had a say since then are expelled",),
    )
    return Defended(
        found.form.joined(params, buffers),
        found.form.joined(moves, changes),
        Memory(watch=memory.watch),
        _told(bound, replace(found, clients=()), said),
        buffers,
    )


def log_attention(said: Diagnostics) -> None:
    """Log who sent the same as others. In a simulation nobody does: there attackers do so in every round."""
    for sentence in said.attention:
        log.warning("%s: %s", said.rule, sentence)


def _told(bound: Rule, found: Screened, said: Diagnostics) -> Diagnostics:
    """Return the diagnostics with the clients' own ids and the dropped ones, which are logged."""
    for drop in found.dropped:
        log.warning("%s dropped %s", bound.name, drop)
    for note in found.notes:
        log.warning("%s: %s", bound.name, note)
    left_out = (*found.dropped, *found.expelled)
    return replace(
        said,
        clients=found.clients,
        dropped=left_out,
        notes=(*said.notes, *found.notes),
        identical=found.identical,
        unchanged=found.unchanged,
    )
