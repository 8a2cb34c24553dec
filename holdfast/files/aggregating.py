"""A whole round over files: clients' models in, the next global model out."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..buffers import buffer_problem, combined_buffers
from ..core import Aggregate, Bound, bind
from ..diagnostics import Diagnostics, Dropped
from ..errors import DataError, InputError
from ..screening import defend_screened
from ..updates.layout import widened
from ..updates.rows import CELL, Rows
from .opening import Checkpoint, StoredTensor, open_own
from .output import NotFiniteError, check_output, narrowed, write_model
from .room import Room, Watch, n_bytes_of
from .round import FileRound, OpenRound, arrays_of, check_fits, open_round
from .state import load_state, save_state

__all__ = ["aggregate_files", "finish_round", "run_rule"]

Array = NDArray[Any]


def aggregate_files(
    clients: Sequence[str | Path],
    rule: Any,
    *,
    base: str | Path,
    out: str | Path,
    memory: int | str = "1GB",
    watch: Watch | None = None,
    **given: Any,
) -> Diagnostics:
    """Write the next model, made of the clients' files by a rule, and return what there is to say of it.

    Its bits are those of `base + defend(models, rule, base=base).update` in memory. Clients whose files
    cannot be used are dropped, by name; `given` are the other fields of a FileRound.

    >>> import tempfile
    >>> from holdfast import median
    >>> from holdfast.files import save_tensors
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, x in {"base": 0.0, "ann": 1.0, "bob": 2.0, "eve": 99.0}.items():
    ...     save_tensors(folder / f"{name}.safetensors", {"w": np.full(3, x, np.float32)})
    >>> base, *clients = [folder / f"{name}.safetensors" for name in ("base", "ann", "bob", "eve", "dan")]
    >>> said = aggregate_files(clients, median, base=base, out=folder / "next.safetensors")
    >>> print(said.dropped[0])
    client dan: cannot be opened: No such file or directory
    """
    bound = rule if isinstance(rule, Bound) else bind(rule)
    round_ = FileRound(tuple(map(Path, clients)), Path(base), bound, **given)
    n_bytes = n_bytes_of(memory) if isinstance(memory, str) else memory
    room = Room(Path(out).resolve().parent, n_bytes, watch)
    return finish_round(round_, Path(out), room)


def finish_round(given: FileRound, out: Path, home: Room) -> Diagnostics:
    """Run the rule over the files, wherever the home does its passes, and write what comes of it."""
    files, result = run_rule(given, out, home)
    assert result.diagnostics is not None
    return _written(given, out, files, result, result.diagnostics)


def run_rule(given: FileRound, out: Path, home: Room) -> tuple[OpenRound, Aggregate]:
    """Return the opened files and what the rule makes of them, after all that can be wrong is checked."""
    check_inputs(given)
    files = open_round(given, home)
    check_output(out, files.base)
    home.check_holds(
        len(given.clients) * n_bytes_held(files.base, files.buffers), "the buffers of all clients"
    )
    _check_base(files, given)
    state, previous = (None, None) if given.state is None else load_state(given.state, given.rule, home)
    result = defend_screened(
        files.screened,
        given.rule,
        state=state,
        previous=previous,
        reference=_reference(given, files),
        rng=np.random.default_rng(given.seed) if given.rule.needs("rng") else None,
    )
    return files, result


def n_bytes_held(model: Checkpoint, names: Sequence[str]) -> int:
    """Return how much memory the tensors of these names take."""
    tensors = (model.tensors[name] for name in names)
    return sum(int(np.prod(t.shape, dtype=np.int64)) * t.dtype.itemsize for t in tensors)


def check_inputs(given: FileRound) -> None:
    """Raise if the rule lacks something that it cannot do without."""
    if not given.clients:
        raise InputError("a round needs at least one client's file")
    if given.rule.needs("reference") and given.reference is None:
        raise InputError(
            f"{given.rule.name} needs a reference: the file of a model trained on the server's data"
        )
    if given.rule.needs("state") and given.state is None:
        raise InputError(f"{given.rule.name} keeps a state between rounds: name a file for it")


def _written(
    given: FileRound, out: Path, files: OpenRound, result: Aggregate, said: Diagnostics
) -> Diagnostics:
    place = out, files.base, files.screened.rows.layout, files.trained
    try:
        if not said.aggregated:
            write_model(*place, None, {})
            return said
        buffers, notes = _buffers(given, files, said)
        write_model(*place, result.update, buffers)
    except NotFiniteError:
        write_model(*place, None, {})
        why = "the next model would hold infinite values"
        return replace(said, aggregated=False, notes=(*said.notes, why))
    if given.state is not None:
        save_state(given.state, given.rule, result.state, result.update)
    return replace(said, notes=(*said.notes, *notes))


def _check_base(files: OpenRound, given: FileRound) -> None:
    """Raise if the global model is not finite: all clients would be dropped for it."""
    base = Rows(files.screened.rows.layout, (arrays_of(files.base, files.trained),))
    for at in range(0, base.dim, 16 * CELL):
        if not np.isfinite(base.block(at, min(at + 16 * CELL, base.dim))).all():
            raise DataError(f"the base, {given.base}, holds NaN or infinite values")


def _reference(given: FileRound, files: OpenRound) -> Array | None:
    """Return the server's own update, flat: its model less the base, or the update itself."""
    if given.reference is None or not given.rule.needs("reference"):
        return None
    model = open_own(given.reference, name="the reference")
    try:
        check_fits(model, files.base, files.trained, is_part=True)
    except Exception as reason:
        raise DataError(f"the reference, {given.reference}, does not fit the base: {reason}") from None
    rows = replace(files.screened.rows, arrays=(arrays_of(model, files.trained),), positions=None)
    flat = rows.empty()
    for at in range(0, rows.dim, CELL):
        flat[at : at + CELL] = rows.block(at, min(at + CELL, rows.dim))[0]
    return flat


def _buffers(
    given: FileRound, files: OpenRound, said: Diagnostics
) -> tuple[dict[str, Array], tuple[str, ...]]:
    """Return the next value of every buffer as it is stored, and who was left out of them."""
    if not files.buffers:
        return {}, ()
    base = _values(files.base, files.buffers)
    sent = [_values(files.models[client], files.buffers) for client in said.clients]
    problems = [buffer_problem(values, base) for values in sent]
    left_out = [Dropped(c, why) for c, why in zip(said.clients, problems, strict=True) if why is not None]
    weights = files.screened.weights
    if weights is not None:
        weights = weights[[files.screened.clients.index(client) for client in said.clients]]
    is_plain = given.rule.name == "fedavg"
    found = combined_buffers(sent, base=base, weights=weights, averaged=is_plain, clients=said.clients)
    stored = {name: _stored(files.base.tensors[name], found[name]) for name in files.buffers}
    return stored, tuple(f"buffers are made without {drop}" for drop in left_out)


def _values(model: Checkpoint, names: Sequence[str]) -> dict[str, Array]:
    """Return the buffers of one model; bfloat16, which NumPy lacks, as float32."""
    found = {}
    for name in names:
        values = model.tensors[name].values()
        is_brain = model.tensors[name].type_name == "BF16"
        found[name] = widened(values, np.dtype(np.float32)) if is_brain else values
    return found


def _stored(tensor: StoredTensor, values: Array) -> Array:
    if tensor.type_name == "BF16":
        return narrowed(values, "bfloat16")
    return np.asarray(values, dtype=tensor.dtype)
