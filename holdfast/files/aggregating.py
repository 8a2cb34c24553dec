"""A whole round over files: clients' models in, the next global model out."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .._support.cluster import connected
from ..core import Rule, bind
from ..defending import defend_screened
from ..diagnostics import Diagnostics
from ..errors import InputError
from ..updates.forms import BUFFERS
from .opening import open_own
from .output import check_output, write_model
from .ray_room import RayRoom
from .room import Room, Watch, n_bytes_of
from .round import open_round
from .saving import load_memory, save_memory

__all__ = ["aggregate_files"]


def aggregate_files(
    clients: Sequence[str | Path],
    rule: Any,
    *,
    base: str | Path,
    out: str | Path,
    weights: str | Path | None = None,
    reference: str | Path | None = None,
    state: str | Path | None = None,
    seed: int | None = None,
    only: Sequence[str] = (),
    buffers: Sequence[str] = BUFFERS,
    are_updates: bool = False,
    explain: bool = False,
    memory: int | str = "1GB",
    workers: str | None = None,
    watch: Watch | None = None,
) -> Diagnostics:
    """Write the next model, made of the clients' files by a rule, and return what there is to say about it.

    Its bits are those of `defend(models, rule, base=base).model` in memory. Clients whose files cannot be
    used are dropped, by name. `weights` is a JSON file with the number of examples per client, `reference`
    the model that the server trained itself, `state` the file in which the rule's memory is kept between
    rounds. `only` holds patterns of the tensors to aggregate, `buffers` of those that no rule applies to.
    With `are_updates`, files hold differences from the base. `workers` is "ray", or a cluster's address.

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
    bound = bind(rule)
    _check_inputs(bound, reference, state)
    own = open_own(Path(base), name="the base")
    check_output(Path(out), own)
    with _room(Path(out), memory, workers, watch) as room:
        files = open_round(
            [Path(path) for path in clients],
            own,
            weights=None if weights is None else Path(weights),
            only=only,
            buffers=buffers,
            are_updates=are_updates,
            explain=explain,
            home=room,
        )
        defended = defend_screened(
            files.screened,
            bound,
            state=None if state is None else load_memory(Path(state), bound, room),
            reference=None if reference is None else files.update_of(Path(reference)),
            rng=np.random.default_rng(seed) if bound.needs("rng") else None,
            apply=lambda update, extra: write_model(Path(out), own, files.steps(update), extra),
        )
    if state is not None and defended.diagnostics.aggregated:
        save_memory(Path(state), bound, defended.state)
    return defended.diagnostics


@contextmanager
def _room(out: Path, memory: int | str, workers: str | None, watch: Watch | None) -> Iterator[Room]:
    """Yield the home of the rows: this process, or a cluster that is joined meanwhile."""
    folder, n_bytes = out.resolve().parent, n_bytes_of(memory) if isinstance(memory, str) else memory
    if workers is None:
        yield Room(folder, n_bytes, watch)
        return
    with connected(workers) as n_cores:
        yield RayRoom(folder, n_bytes, watch, n_cores=n_cores)


def _check_inputs(rule: Rule, reference: Any, state: Any) -> None:
    """Raise if the rule lacks something that it cannot do without."""
    if rule.needs("reference") and reference is None:
        raise InputError(f"{rule.name} needs a reference: the file of a model trained on the server's data")
    if (rule.needs("state") or rule.needs("previous")) and state is None:
        what = "a state" if rule.needs("state") else "the last update"
        raise InputError(f"{rule.name} keeps {what} between rounds: name a file for it (state=, --state)")
