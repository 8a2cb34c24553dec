"""A round whose models lie in files: what is given as a value, and the clients' files opened and checked."""

import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..buffers import BUFFERS, is_named
from ..core import Aggregate, Bound
from ..diagnostics import Dropped
from ..errors import DataError, InputError
from ..screening import Screened, examples_held
from ..updates.layout import Layout, Unfit
from ..updates.rows import Home, Rows
from .header import FLOAT_TYPES, strict_json
from .opening import Checkpoint, open_from_client, open_own

__all__ = ["FileRound", "OpenRound", "open_round"]


@dataclass(frozen=True)
class FileRound:
    """What a round is made of: the clients' files, the global model, a rule and its inputs.

    >>> from holdfast import bind, median
    >>> FileRound((Path("clients/ann.safetensors"),), Path("base.safetensors"), bind(median)).names
    ('ann',)
    """

    clients: tuple[Path, ...]
    base: Path
    rule: Bound[Aggregate]
    weights: Path | None = None
    reference: Path | None = None
    state: Path | None = None
    seed: int | None = None
    only: tuple[str, ...] = ()  # patterns of the tensors to aggregate; the others stay as they are
    buffers: tuple[str, ...] = BUFFERS
    are_updates: bool = False  # the clients' files hold differences from the base
    explain: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """What the clients are called: their files' bare names, whole paths where two of these are alike."""
        bare = [path.name.removesuffix(".json").removesuffix(".index") for path in self.clients]
        short = [name.removesuffix(".safetensors") for name in bare]
        whole = [str(path) for path in self.clients]
        if len(set(whole)) != len(whole):
            twice = next(path for path in whole if whole.count(path) > 1)
            raise InputError(f"{twice} is given twice: one file a client")
        return tuple(short if len(set(short)) == len(short) else whole)


@dataclass(frozen=True, eq=False)
class OpenRound:
    """The files of a round: the base, those of the clients that fit it, and who was dropped."""

    base: Checkpoint
    trained: tuple[str, ...]  # tensors that the rule aggregates, in order
    buffers: tuple[str, ...]
    screened: Screened
    models: dict[str, Checkpoint]


def open_round(given: FileRound, home: Home | None) -> OpenRound:
    """Open all files; a client whose file does not fit the base is dropped, with the reason."""
    _allow_many_files()
    base = open_own(given.base, name="the base")
    trained, buffers = _parts(given, base)
    counts = None if given.weights is None else sample_counts(given.weights, given.names)
    models: dict[str, Checkpoint] = {}
    weights, dropped = [], []
    for number, (name, path) in enumerate(zip(given.names, given.clients, strict=True)):
        try:
            model = open_from_client(path, base)
            check_fits(model, base, (*trained, *buffers), is_part=bool(given.only))
            if counts is not None:
                weights.append(examples_held(counts[number]))
            models[name] = model
        except Unfit as reason:
            dropped.append(Dropped(name, str(reason)))
    base_arrays = arrays_of(base, trained)
    layout = Layout(tuple(base.tensors[name].layer for name in trained), is_single=False)
    layout = Layout(layout.layers, is_single=False, flat_dtype=layout.compute_dtype)
    if layout.dim == 0:
        raise DataError(f"the base, {given.base}, holds no numbers that a rule could aggregate")
    rows = Rows(
        layout,
        tuple(arrays_of(model, trained) for model in models.values()),
        None if given.are_updates else base_arrays,
        given.explain,
        home=home,
    )
    screened = Screened(rows, tuple(models), None if counts is None else np.array(weights), tuple(dropped))
    return OpenRound(base, trained, buffers, screened, models)


def arrays_of(model: Checkpoint, names: Sequence[str]) -> tuple[Any, ...]:
    """Return the tensors of these names."""
    return tuple(model.tensors[name] for name in names)


def _parts(given: FileRound, base: Checkpoint) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of what the rule aggregates, and of the buffers beside it."""
    chosen = [name for name in base.tensors if not given.only or is_named(name, given.only)]
    is_trained = {
        name: base.tensors[name].type_name in FLOAT_TYPES and not is_named(name, given.buffers)
        for name in chosen
    }
    trained = tuple(name for name in chosen if is_trained[name])
    if not trained:
        which = f" named {', '.join(given.only)}" if given.only else ""
        raise DataError(f"the base, {given.base}, has no tensors of floats{which}: nothing to aggregate")
    return trained, tuple(name for name in chosen if not is_trained[name])


def check_fits(model: Checkpoint, base: Checkpoint, needed: Sequence[str], *, is_part: bool) -> None:
    """Raise Unfit unless the names, shapes and kinds of number are those of the base."""
    missing = [name for name in needed if name not in model.tensors]
    if missing:
        raise Unfit(f"lacks {_named(missing)}")
    allowed = base.tensors if is_part else needed
    foreign = [name for name in model.tensors if name not in set(allowed)]
    if foreign:
        raise Unfit(f"holds {_named(foreign)}, which the base does not have")
    for name in needed:
        got, own = model.tensors[name], base.tensors[name]
        if got.shape != own.shape:
            raise Unfit(f"wrong shape of {name!r}: {got.shape}, not {own.shape}")
        are_floats = got.type_name in FLOAT_TYPES and own.type_name in FLOAT_TYPES
        if got.type_name != own.type_name and not are_floats:
            raise Unfit(f"wrong type of {name!r}: {got.type_name}, not {own.type_name}")


def _named(names: list[str]) -> str:
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{names[0][:80]!r}{others}"


def sample_counts(path: Path, names: Sequence[str]) -> list[Any]:
    """Return each client's count of examples, as the JSON file has it: what it says is checked later."""
    try:
        counts = strict_json(path.read_bytes())
    except Unfit as reason:
        raise DataError(f"weights, {path}, {reason}".replace("a header that is", "content that is")) from None
    except OSError as error:
        raise DataError(f"weights, {path}, cannot be read: {error.strerror}") from None
    if not isinstance(counts, dict):
        raise DataError(f'weights, {path}, must hold one JSON object: {{"ann": 120, "bob": 80}}')
    missing = [name for name in names if name not in counts]
    if missing:
        raise DataError(f"weights, {path}, has no count for {_named(missing)}; it needs one for each client")
    return [counts[name] for name in names]


def _allow_many_files() -> None:
    """Let this process open as many files as the system allows it: clients times shards may be thousands."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
