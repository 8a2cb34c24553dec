"""The files of a round, opened and checked against the base."""

import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.diagnostics import Dropped
from ..defending.screening import Screened, with_buffers
from ..errors import DataError
from ..kernels.digests import Key
from ..updates.counts import examples_held
from ..updates.forms import first_named, is_named, patterns_in
from ..updates.layout import Layout, Unfit, widened
from ..updates.rows import CELL, Rows
from .header import FLOAT_TYPES, strict_json
from .naming import ClientFiles
from .opening import Checkpoint, files_per_client, open_from_client, open_own
from .room import Room
from .stored import identity_of

__all__ = ["OpenRound", "open_round"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class OpenRound:
    """The base, and what the clients whose files fit it have sent."""

    base: Checkpoint
    trained: tuple[str, ...]  # tensors that the rule aggregates, in order
    screened: Screened

    @property
    def examples(self) -> dict[Any, float] | None:
        """The number of examples per client, where the round has them."""
        counts = self.screened.weights
        return None if counts is None else dict(zip(self.screened.clients, counts, strict=True))

    def steps(self, update: Array | None) -> dict[str, Array]:
        """Return what a flat update adds to each tensor; without one, nothing."""
        if update is None:
            return {}
        layout = self.screened.rows.layout
        sliced = zip(self.trained, layout.offsets, layout.offsets[1:], strict=False)
        return {name: update[start:stop] for name, start, stop in sliced}

    def update_of(self, path: Path) -> Array:
        """Return the update in a file of the server's own, flat: a model less the base, or an update."""
        model = open_own(path, name="the reference")
        try:
            _check_fits(model, self.base, self.trained, is_part=True)
        except Unfit as reason:
            raise DataError(f"the reference, {path}, does not fit the base: {reason}") from None
        return _flat(replace(self.screened.rows, arrays=(_arrays(model, self.trained),), positions=None))

    def params(self) -> Array:
        """Return the parameters of the base that the rule aggregates, flat."""
        own = _arrays(self.base, self.trained)
        return _flat(replace(self.screened.rows, arrays=(own,), base=None, positions=None))


def open_round(
    clients: ClientFiles,
    base: Checkpoint,
    *,
    weights: Path | None,
    only: Sequence[str],
    buffers: Sequence[str],
    are_updates: bool,
    explain: bool,
    home: Room,
) -> OpenRound:
    """Open the files; a client whose file does not fit the base, or is one of several, is dropped."""
    counts = None if weights is None else sample_counts(weights, [*clients.by_client])
    trained, beside = _split(base, only, buffers)
    layout = _layout(base, trained)
    n_bytes = sum(tensor.size * tensor.dtype.itemsize for tensor in _arrays(base, beside))
    home.check_holds(len(clients.by_client) * n_bytes, "the buffers of all clients")
    n_files, key = files_per_client(len(clients.by_client), base), Key.new()
    arrays, held, sent, stay, dropped = [], [], [], [], []
    owners = _owners(clients)
    for name in clients.by_client:
        try:
            path = clients.path_of(name)
            if counts is not None and name not in counts:
                raise Unfit(f"has no sample count in {weights}")
            model = open_from_client(path, base, n_files=n_files)
            _check_fits(model, base, (*trained, *beside), is_part=bool(only))
            owner = owners.setdefault(frozenset(file.identity for file in model.files), name)
            if owner != name:
                raise Unfit(f"is the same file as that of client {owner}")
            examples, extras = examples_held(1 if counts is None else counts[name]), _values(model, beside)
        except Unfit as reason:
            dropped.append(Dropped(name, str(reason)))
            continue
        arrays.append(_witnessed(model, trained, layout, key))
        held.append(examples)
        sent.append(extras)
        stay.append(name)
    rows = Rows(layout, tuple(arrays), None if are_updates else _arrays(base, trained), explain, home=home)
    found = Screened(rows, tuple(stay), None if counts is None else np.array(held), tuple(dropped))
    found = replace(found, notes=clients.notes)
    own = _values(base, beside)
    found = with_buffers(found, base=own, sent=sent, are_differences=are_updates)
    return OpenRound(base, trained, found)


def _owners(clients: ClientFiles) -> dict[frozenset[tuple[int, ...]], str]:
    """Return the client of each file that is given itself: an index of another client may name it, too."""
    owners: dict[frozenset[tuple[int, ...]], str] = {}
    for name, paths in clients.by_client.items():
        for path in paths:
            try:
                entry = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(entry.st_mode) and not path.name.endswith(".json"):
                owners.setdefault(frozenset({identity_of(entry)}), name)
    return owners


def _flat(rows: Rows) -> Array:
    """Return the only one of these rows, in as much memory as is allowed."""
    flat = rows.empty()
    for at in range(0, rows.dim, CELL):
        flat[at : at + CELL] = rows.block(at, min(at + CELL, rows.dim))[0]
    return flat


def _arrays(model: Checkpoint, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(model.tensors[name] for name in names)


def _witnessed(model: Checkpoint, names: Sequence[str], layout: Layout, key: Key) -> tuple[Any, ...]:
    """Return the tensors of a client, which must show the same content to every pass."""
    places = zip(names, layout.offsets, strict=False)
    return tuple(model.tensors[name].witnessed(key, first) for name, first in places)


def _values(model: Checkpoint, names: Sequence[str]) -> dict[str, Array]:
    """Return the buffers of one model; bfloat16, which NumPy lacks, as float32."""
    found = {}
    for name in names:
        values = model.tensors[name].values()
        is_brain = model.tensors[name].type_name == "BF16"
        found[name] = widened(values, np.dtype(np.float32)) if is_brain else values
    return found


def _layout(base: Checkpoint, trained: Sequence[str]) -> Layout:
    """Return the form of an update, which stays flat; raise unless the base's numbers are finite.

    All clients would be dropped for a base that is not.
    """
    layers = tuple(base.tensors[name].layer for name in trained)
    layout = Layout(layers, is_single=False, flat_dtype=Layout(layers, is_single=False).compute_dtype)
    if layout.dim == 0:
        raise DataError(f"the base, {base.path}, holds no numbers that a rule could aggregate")
    rows = Rows(layout, (_arrays(base, trained),))
    for at in range(0, rows.dim, 16 * CELL):
        if not np.isfinite(rows.block(at, min(at + 16 * CELL, rows.dim))).all():
            raise DataError(f"the base, {base.path}, holds NaN or infinite values")
    return layout


def _split(
    base: Checkpoint, only: Sequence[str], buffers: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what the rule aggregates, and of the buffers beside it."""
    patterns = patterns_in(buffers, [*base.tensors])
    chosen = [name for name in base.tensors if not only or is_named(name, only)]
    trained = tuple(
        name
        for name in chosen
        if base.tensors[name].type_name in FLOAT_TYPES and not is_named(name, patterns)
    )
    if not trained:
        which = f" named {', '.join(only)}" if only else ""
        raise DataError(f"the base, {base.path}, has no tensors of floats{which}: nothing to aggregate")
    return trained, tuple(name for name in chosen if name not in set(trained))


def _check_fits(model: Checkpoint, base: Checkpoint, needed: Sequence[str], *, is_part: bool) -> None:
    """Raise Unfit unless the names, shapes and kinds of number are those of the base."""
    missing = [name for name in needed if name not in model.tensors]
    if missing:
        raise Unfit(f"lacks {first_named(missing)}")
    allowed = base.tensors if is_part else set(needed)
    foreign = [name for name in model.tensors if name not in allowed]
    if foreign:
        raise Unfit(f"holds {first_named(foreign)}, which the base does not have")
    for name in needed:
        got, own = model.tensors[name], base.tensors[name]
        if got.shape != own.shape:
            raise Unfit(f"wrong shape of {name!r}: {got.shape}, not {own.shape}")
        are_floats = got.type_name in FLOAT_TYPES and own.type_name in FLOAT_TYPES
        if got.type_name != own.type_name and not are_floats:
            raise Unfit(f"wrong type of {name!r}: {got.type_name}, not {own.type_name}")


def sample_counts(path: Path, clients: Collection[str]) -> dict[str, Any]:
    """Return the sample counts in a JSON file as they stand there; raise if it has none of these clients.

    A single client without a count is dropped instead: it may have chosen a name that nobody expected.
    """
    try:
        counts = strict_json(path.read_bytes(), "content")
    except Unfit as reason:
        raise DataError(f"weights, {path}, {reason}") from None
    except OSError as error:
        raise DataError(f"weights, {path}, cannot be read: {error.strerror}") from None
    if not isinstance(counts, dict):
        raise DataError(f'weights, {path}, must hold one JSON object: {{"ann": 120, "bob": 80}}')
    if counts.keys().isdisjoint(clients):
        raise DataError(
            f"weights, {path}, has no count for {first_named([*clients])}; it needs one per client"
        )
    return counts
