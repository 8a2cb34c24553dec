"""What a client sends is data from a stranger: `screen` drops what cannot be used, `defend` then runs a rule.

Nothing a client sends raises. What the caller sets wrongly does.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import kernels
from .core import Aggregate, Bound, bind
from .diagnostics import Diagnostics, Dropped
from .errors import InputError, NonFiniteError, TooFewClientsError
from .updates.layout import Layer, Layout, Unfit, all_finite, layers_of
from .updates.rows import Rows, Updates, base_of, sent_by_clients

__all__ = ["MAX_EXAMPLES", "Screened", "defend", "defend_screened", "examples_held", "screen"]

#: More examples than a client can hold: a count above it is a lie.
MAX_EXAMPLES = 100_000_000

log = logging.getLogger("holdfast")


@dataclass(frozen=True, eq=False)
class Screened:
    """The updates that can be used, whose they are, and who was dropped and why.

    >>> clean = screen(np.array([[1.0, 2.0], [np.nan, 0.0]]))
    >>> clean.clients, [str(drop) for drop in clean.dropped]
    ((0,), ['client 1: holds NaN, infinite or overflowing values'])
    """

    rows: Rows
    clients: tuple[Any, ...]
    weights: NDArray[np.float64] | None = None
    dropped: tuple[Dropped, ...] = ()

    def without(self, positions: Sequence[int], reason: str) -> "Screened":
        """Return the same without the rows at these positions, the reason given."""
        stay = [i for i in range(len(self.rows)) if i not in set(positions)]
        return Screened(
            replace(self.rows.select(stay), positions=None),
            tuple(self.clients[i] for i in stay),
            None if self.weights is None else self.weights[stay],
            (*self.dropped, *(Dropped(self.clients[i], reason) for i in positions)),
        )


def screen(
    updates: Updates,
    *,
    base: Any = None,
    params: Any = None,
    weights: Sequence[Any] | NDArray[Any] | None = None,
    clients: Sequence[Any] | None = None,
) -> Screened:
    """Return the updates that a rule can use, and who was dropped and why.

    Dropped are rows of the wrong form, shape or type, with values that are not finite, or with a sample
    count (`weights`) that cannot be. The form that counts is the server's: that of `base` (the clients
    sent models, and this is the global one), of `params` (they sent updates of it), or of one array that
    holds all rows.

    >>> params = np.zeros(2)
    >>> screen([np.ones(2), np.ones(3), "me"], params=params).dropped[0].reason
    'wrong shape: (3,), not (2,)'
    """
    fitting = _fitting(updates, base=base, params=params, weights=weights, clients=clients)
    if fitting.clients:
        try:
            kernels.squared_norms(fitting.rows)
        except NonFiniteError as error:
            return fitting.without(error.rows, f"holds {error.problem}")
    return fitting


def defend(
    updates: Updates,
    rule: Callable[..., Aggregate] | Bound[Aggregate],
    *,
    base: Any = None,
    params: Any = None,
    weights: Sequence[Any] | NDArray[Any] | None = None,
    clients: Sequence[Any] | None = None,
    state: Any = None,
    previous: Any = None,
    reference: Any = None,
    rng: np.random.Generator | None = None,
    explain: bool = False,
) -> Aggregate:
    """Return what the rule makes of the updates that pass the screen; hostile rows never stop a round.

    The first inputs are those of `screen`; the others go to the rules that ask for them. If nobody is
    left, or too few for the rule, the update is zero, the model stays as it is, and log and diagnostics
    say so. `explain` measures every client on the way.

    >>> from holdfast import invariant
    >>> updates = np.array([[1.0, 1.0], [1.2, -1.0], [0.8, 1.1], [1.0, -0.9], [np.nan, 9.0]])
    >>> result = defend(updates, invariant, clients=["ann", "bob", "cat", "dan", "eve"])
    >>> result.update
    array([1., 0.])
    >>> print(result.diagnostics.dropped[0])
    client eve: holds NaN, infinite or overflowing values
    """
    fitting = _fitting(updates, base=base, params=params, weights=weights, clients=clients)
    fitting = replace(fitting, rows=replace(fitting.rows, explain=explain or fitting.rows.explain))
    inputs = {"params": params, "previous": previous, "reference": reference, "rng": rng}
    return defend_screened(fitting, rule, state=state, **inputs)


def defend_screened(
    fitting: Screened,
    rule: Callable[..., Aggregate] | Bound[Aggregate],
    *,
    state: Any = None,
    rng: np.random.Generator | None = None,
    **inputs: Any,
) -> Aggregate:
    """Return what the rule makes of rows whose form is checked already, some clients dropped for theirs.

    >>> from holdfast import median
    >>> defend_screened(screen(np.array([[1.0], [3.0], [2.0]])), median).update
    array([2.])
    """
    bound = rule if isinstance(rule, Bound) else bind(rule)
    if rng is not None and not isinstance(rng, np.random.Generator):
        raise InputError(
            f"rng must be a numpy Generator, numpy.random.default_rng(seed); got {type(rng).__name__}"
        )
    inputs |= {"state": state, "rng": rng}
    while fitting.clients:
        try:
            result = bound(fitting.rows, weights=fitting.weights, clients=fitting.clients, **inputs)
        except NonFiniteError as error:  # found on the way: the rule runs once more without them
            fitting = fitting.without(error.rows, f"holds {error.problem}")
            continue
        except TooFewClientsError as error:
            if not fitting.dropped:
                raise
            return _unchanged(bound, fitting, state, f"{error}, after {len(fitting.dropped)} were dropped")
        result = replace(result, update=_in_form(bound, fitting.rows.layout, result.update))
        if not _is_finite(result.update):
            return _unchanged(bound, fitting, state, "the aggregated update is not finite")
        return _told(bound, fitting, result)
    return _unchanged(bound, fitting, state, "no usable update is left")


def _fitting(
    updates: Updates, *, base: Any, params: Any, weights: Any, clients: Sequence[Any] | None
) -> Screened:
    """Return the rows of the right form with a possible sample count; their values are not looked at."""
    if isinstance(updates, Rows):
        if base is not None:
            raise InputError("these rows have their base already; pass base= where they are made, once")
        layout, sent, base_arrays = updates.layout, list(updates.arrays), updates.base
        accept: Callable[[Any], Any] = tuple
    else:
        layout, base_arrays = _server_layout(updates, base=base, params=params)
        sent, accept = sent_by_clients(updates), layout.accept
    ids = list(range(len(sent))) if clients is None else _per_client("clients", clients, len(sent))
    counts = [1.0] * len(sent) if weights is None else _per_client("weights", weights, len(sent))

    arrays, fit_ids, fit_counts, dropped = [], [], [], []
    for client, given, count in zip(ids, sent, counts, strict=True):
        try:
            arrays.append(accept(given))
            fit_counts.append(examples_held(count))
            fit_ids.append(client)
        except Unfit as reason:
            del arrays[len(fit_ids) :]
            dropped.append(Dropped(client, str(reason)))
    explain = isinstance(updates, Rows) and updates.explain
    home = updates.home if isinstance(updates, Rows) else None
    rows = Rows(layout, tuple(arrays), base_arrays, explain, home=home)
    return Screened(rows, tuple(fit_ids), None if weights is None else np.array(fit_counts), tuple(dropped))


def _per_client(name: str, values: Any, n_clients: int) -> list[Any]:
    """Return one entry a client, as the caller gave them."""
    if isinstance(values, Mapping | str) or not hasattr(values, "__len__"):
        raise InputError(
            f"{name} must be a list with one entry a client, in the order of the updates; got"
            f" {type(values).__name__}"
        )
    if len(values) != n_clients:
        raise InputError(f"{name} must hold one entry a client: {n_clients}; got {len(values)}")
    return list(np.asarray(values) if hasattr(values, "__array__") else values)


def _server_layout(updates: Any, *, base: Any, params: Any) -> tuple[Layout, tuple[Any, ...] | None]:
    """Return the form that counts, and the base's numbers if there is one."""
    layout, base_arrays = (None, None) if base is None else base_of(base)
    if layout is None and params is not None:
        layout = Layout.of(params, name="params")
    if isinstance(updates, list | tuple):
        if layout is None:
            raise InputError(
                "a list of what clients sent needs the server's own model to tell which shape is right:"
                " pass base= if they sent models, params= if they sent updates"
            )
        return layout, base_arrays
    sent_by_clients(updates)
    try:
        layer, _ = Layer.read(updates)
    except Unfit as reason:
        raise InputError(f"updates: {reason}") from None
    stacked = Layout((replace(layer, shape=layer.shape[1:]),), is_single=True)
    if layout is not None and (not layout.is_single or layout.layers[0].shape != stacked.layers[0].shape):
        raise InputError(
            f"updates hold rows of shape {stacked.described}, the server's model is {layout.described}:"
            " pass both in the same form"
        )
    return layout or stacked, base_arrays


def examples_held(count: Any) -> float:
    """Return a sample count as a client sent it, if it can be one; else raise Unfit.

    >>> examples_held(32)
    32.0
    """
    try:
        examples = float(count) if isinstance(count, Real | np.number) else np.nan
    except (OverflowError, TypeError):  # an integer beyond all floats, a complex number
        examples = np.nan
    if not 0 <= examples <= MAX_EXAMPLES:
        said = type(count).__name__ if np.isnan(examples) else f"{examples:g}"
        raise Unfit(f"impossible sample count: {said}, not a number in 0 to {MAX_EXAMPLES}")
    return examples


def _told(bound: Bound[Aggregate], fitting: Screened, result: Aggregate) -> Aggregate:
    """Return the result with the clients' own ids and the dropped ones in its diagnostics, and log them."""
    for drop in fitting.dropped:
        log.warning("%s dropped %s", bound.name, drop)
    said = result.diagnostics or Diagnostics(rule=bound.name, clients=tuple(range(len(fitting.clients))))
    return replace(result, diagnostics=replace(said, clients=fitting.clients, dropped=fitting.dropped))


def _unchanged(bound: Bound[Aggregate], fitting: Screened, state: Any, why: str) -> Aggregate:
    """Return the zero update, with the reason in log and diagnostics; the rule's state stays too."""
    log.error("%s did not aggregate, the model stays as it is: %s", bound.name, why)
    layout = fitting.rows.layout
    zero = layout.restored(np.zeros(layout.dim, dtype=layout.compute_dtype))
    said = Diagnostics(rule=bound.name, clients=(), aggregated=False, notes=(why,))
    return _told(bound, fitting, Aggregate(zero, state, said))


def _in_form(bound: Bound[Aggregate], layout: Layout, update: Any) -> Any:
    """Return what a rule gave in the form of one update; a rule of one's own may give it flat."""
    try:
        layout.accept(update)
        return update
    except Unfit as reason:
        flat = np.asarray(update) if hasattr(update, "__array__") else np.empty(0)
        if flat.shape == (layout.dim,) and flat.dtype.kind == "f":
            return layout.restored(np.ascontiguousarray(flat, dtype=layout.compute_dtype))
        raise InputError(
            f"{bound.name} returned an update that does not fit: {reason}; a rule returns"
            " Aggregate(update) in the form of one client's update, or flat"
        ) from None


def _is_finite(update: Any) -> bool:
    _, arrays, _ = layers_of(update)
    return all(all_finite(array) for array in arrays)
