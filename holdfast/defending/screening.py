"""What a client sends is data from a stranger: `screen` drops what cannot be used, and says why.

Nothing a client sends raises. What the caller sets wrongly does.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..aggregators.buffers import accept_buffers
from ..core.diagnostics import Dropped
from ..errors import InputError, NonFiniteError
from ..updates.copies import find_copies
from ..updates.counts import capped_counts, examples_held
from ..updates.forms import BUFFERS, Form, Tree
from ..updates.layout import Layer, Layout, Unfit, all_finite
from ..updates.rows import Rows
from ..updates.sent import sent_by_clients

__all__ = [
    "Screened",
    "capped",
    "compared",
    "fitting",
    "screen",
    "with_buffers",
]

Buffers = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Screened:
    """The updates that can be used, whose they are, and who was dropped and why.

    >>> clean = screen(np.array([[1.0, 2.0], [np.nan, 0.0]]))
    >>> clean.clients, [str(drop) for drop in clean.dropped]
    ((0,), ['client 1: holds NaN, infinite or overflowing values'])
    """

    rows: Rows
    clients: tuple[Any, ...]
    weights: NDArray[np.float64] | None = None  # sample counts
    dropped: tuple[Dropped, ...] = ()
    expelled: tuple[Dropped, ...] = ()  # by a watch
    notes: tuple[str, ...] = ()  # what an operator should know
    identical: tuple[tuple[Any, ...], ...] = ()  # groups of clients that sent the same
    unchanged: tuple[Any, ...] = ()  # clients that sent the server's own model
    form: Form | None = None  # of the server's model, if the next one is to be made of it
    params: tuple[Any, ...] = ()  # the numbers of the server's own parameters, layer by layer
    own_buffers: Buffers = field(default_factory=dict)  # the server's
    buffers: tuple[Buffers, ...] = ()  # [client]; none if the server's model has none

    def without(self, reasons: Mapping[int, str]) -> "Screened":
        """Return the same without the rows at these positions."""
        stay = [row for row in range(len(self.clients)) if row not in reasons]
        gone = tuple(Dropped(self.clients[row], why) for row, why in sorted(reasons.items()))
        left = replace(
            self,
            rows=replace(self.rows.select(stay), positions=None),
            clients=tuple(self.clients[row] for row in stay),
            weights=None if self.weights is None else self.weights[stay],
            buffers=tuple(self.buffers[row] for row in stay) if self.buffers else (),
        )
        return replace(left, dropped=(*self.dropped, *gone))

    def expelling(self, reasons: Mapping[int, str]) -> "Screened":
        """Return the same without these rows, whose clients a watch has given no say."""
        left = self.without(reasons)
        gone = tuple(replace(drop, heard=True) for drop in left.dropped[len(self.dropped) :])
        return replace(left, dropped=self.dropped, expelled=gone)


def screen(
    models: Any,
    *,
    base: Any = None,
    like: Any = None,
    weights: Any = None,
    clients: Sequence[Any] | None = None,
    buffers: Sequence[str] = BUFFERS,
) -> Screened:
    """Return the updates that a rule can use, and who was dropped and why; arguments as in `defend`.

    Dropped are rows of the wrong form, shape or type, with values that are not finite, or with a sample
    count (`weights`) that cannot be. The form that counts is the server's: that of `base` or `like`, or of
    one array that holds all rows.

    >>> screen([np.ones(2), np.ones(3), "me"], like=np.zeros(2)).dropped[0].reason
    'wrong shape: (3,), not (2,)'
    """
    found = fitting(models, base=base, like=like, weights=weights, clients=clients, buffers=buffers)
    if found.clients:
        try:
            kernels.squared_norms(found.rows)
        except NonFiniteError as error:
            found = found.without(dict.fromkeys(error.rows, f"holds {error.problem}"))
    return capped(found)


def fitting(
    models: Any,
    *,
    base: Any = None,
    like: Any = None,
    weights: Any = None,
    clients: Sequence[Any] | None = None,
    buffers: Sequence[str] = BUFFERS,
) -> Screened:
    """Return the rows of the right form with a possible sample count; their values are not looked at yet.

    >>> fitting({"ann": [1.0, 2.0], "bob": [1.0]}, like=[0.0, 0.0]).clients
    ('ann',)
    """
    ids, sent = _by_client(models, clients)
    server = _server(models, base=base, like=like, buffers=buffers)
    counts = None if weights is None else _per_client("weights", weights, ids)
    arrays, extras, stay, good_counts, dropped = [], [], [], [], []
    for row, (client, given) in enumerate(zip(ids, sent, strict=True)):
        try:
            accepted, own = (tuple(given), {}) if server.form is None else server.form.accept(given)
            good_counts.append(1.0 if counts is None else examples_held(counts[row]))
        except Unfit as reason:
            dropped.append(Dropped(client, str(reason)))
            continue
        arrays.append(accepted)
        extras.append(own)
        stay.append(client)
    rows = replace(server.rows, arrays=tuple(arrays))
    found = replace(server, rows=rows, clients=tuple(stay), dropped=tuple(dropped))
    if counts is not None:
        found = replace(found, weights=np.array(good_counts))
    if like is not None and base is None:
        found = replace(found, notes=(*found.notes, *_mistaken(found)))
    return with_buffers(found, base=found.own_buffers, sent=extras, are_differences=base is None)


def with_buffers(
    found: Screened, *, base: Buffers, sent: Sequence[Buffers], are_differences: bool = False
) -> Screened:
    """Return the same with the clients' buffers, and without the clients whose buffers cannot be used."""
    if not base:
        return found
    good: list[Buffers] = []
    reasons: dict[int, str] = {}
    for row, given in enumerate(sent):
        try:
            good.append(accept_buffers(given, base, are_differences=are_differences))
        except Unfit as reason:
            good.append({})
            reasons[row] = str(reason)
    return replace(found, own_buffers=base, buffers=tuple(good)).without(reasons)


def capped(found: Screened, counted: Callable[..., Any] = capped_counts) -> Screened:
    """Return the same with sample counts that are capped: a count is whatever a client makes up."""
    if found.weights is None:
        return found
    counts, notes = counted(found.weights, found.clients)
    return replace(found, weights=counts, notes=(*found.notes, *notes))


def compared(found: Screened) -> Screened:
    """Return the same with the names of clients that sent the same as others, or the server's own model.

    >>> compared(fitting({"ann": [1.0], "bob": [1.0], "eve": [0.0]}, like=[0.0])).identical
    (('ann', 'bob'),)
    """
    if not found.clients:
        return found
    groups, unchanged = find_copies(found.rows)
    return replace(
        found,
        identical=tuple(tuple(found.clients[row] for row in group) for group in groups),
        unchanged=tuple(found.clients[row] for row in unchanged),
    )


def _by_client(models: Any, clients: Sequence[Any] | None) -> tuple[list[Any], list[Any]]:
    """Return the clients' ids and what each sent."""
    if isinstance(models, Mapping):
        if clients is not None:
            raise InputError("models by client id name their clients: leave out clients=")
        return list(models), list(models.values())
    sent = list(models.arrays) if isinstance(models, Rows) else sent_by_clients(models)
    if clients is None:
        return list(range(len(sent))), sent
    ids = _per_client("clients", clients, range(len(sent)))
    if len(set(map(str, ids))) < len(ids):
        twice = next(client for client in ids if list(map(str, ids)).count(str(client)) > 1)
        raise InputError(f"clients must be told apart by their ids; {twice!r} is there twice")
    return ids, sent


def _per_client(name: str, values: Any, clients: Sequence[Any]) -> list[Any]:
    """Return one entry per client, as the caller gave them: in order, or by client id."""
    if isinstance(values, Mapping):
        missing = [client for client in clients if client not in values]
        if missing:
            raise InputError(f"{name} has no entry for client {missing[0]!r}; it needs one per client")
        return [values[client] for client in clients]
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise InputError(f"{name} must hold one entry per client; got {type(values).__name__}")
    if len(values) != len(clients):
        raise InputError(f"{name} must hold one entry per client: {len(clients)}; got {len(values)}")
    return list(np.asarray(values) if hasattr(values, "__array__") else values)


def _server(models: Any, *, base: Any, like: Any, buffers: Sequence[str]) -> Screened:
    """Return the server's side of a round in which nobody has sent anything yet."""
    if isinstance(models, Rows):
        if base is not None or like is not None:
            raise InputError(
                "these rows have their form and base already; pass base= where they are made, once"
            )
        return Screened(replace(models, arrays=()), ())
    if base is not None and like is not None:
        raise InputError("pass base= if clients sent models, like= if they sent updates of it; not both")
    if base is None and like is None:
        return _server_of_array(models)
    own, name = (like, "like") if base is None else (base, "base")
    form, params, own_buffers = Form.read(own, buffers=buffers, name=name)
    if not all(all_finite(array) for array in params):
        raise InputError(f"{name}, the global model, holds NaN or infinite values")
    rows = Rows(form.layout, (), None if base is None else params)
    return Screened(rows, (), form=form, params=params, own_buffers=own_buffers)


def _server_of_array(updates: Any) -> Screened:
    """Return the same for updates in one array, whose rows say which shape is right."""
    if isinstance(updates, list | tuple | Mapping):
        raise InputError(
            "a list of what clients sent needs the server's own model to tell which shape is right:"
            " pass base= if they sent models, like= if they sent updates"
        )
    sent_by_clients(updates)
    try:
        layer, _ = Layer.read(updates[:0])
    except Unfit as reason:
        raise InputError(f"updates: {reason}") from None
    layout = Layout((replace(layer, shape=layer.shape[1:]),), is_single=True)
    if layout.dim == 0:
        raise InputError(f"updates hold no numbers: their shape is {tuple(updates.shape)}")
    return Screened(Rows(layout, ()), (), form=Form(Tree(), layout, (False,)))


def _mistaken(found: Screened) -> tuple[str, ...]:
    """Return a warning where most rows look like the server's model itself, not like updates of it."""
    size = min(found.rows.dim, 4096)
    if not found.clients or not size:
        return ()
    own = Rows(found.rows.layout, (found.params,)).block(0, size)[0].astype(np.float64)
    rows = found.rows.block(0, size).astype(np.float64)
    with np.errstate(all="ignore"):
        lengths, length = np.linalg.norm(rows, axis=1), float(np.linalg.norm(own))
        cosines = rows @ own / (lengths * length)
        alike = (cosines > 0.9) & (lengths > 0.5 * length) & (lengths < 2 * length)
    if alike.sum() * 2 <= len(rows):
        return ()
    return ("most of these updates look like whole models: pass base= instead of like= if that is so",)
