"""A whole round over files: clients' models in, the next global model out."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._support.cluster import connected
from .._support.locks import held, lock_of
from ..core import Rule, Watch, bind
from ..core.diagnostics import Diagnostics
from ..defending import defend_screened
from ..defending.outcomes import log_attention
from ..errors import InputError
from ..updates.forms import BUFFERS
from ..watching import Verdicts
from .booking import booked
from .drawing import round_rng
from .naming import name_clients
from .opening import open_own
from .output import check_output, written_model
from .paths import check_roles
from .ray_room import RayRoom
from .room import Progress, Room, n_bytes_of
from .round import open_round
from .saving import load_memory, save_memory

__all__ = ["Aggregated", "aggregate_files"]

REWIND = (
    "go back to the model from before the first round: clients expelled in this one had a say until now, and"
    " what they planted stays. Take that model as the next base, with the same state"
)


@dataclass(frozen=True, eq=False)
class Aggregated:
    """What there is to say about a round over files. Print it, or store `as_dict()`.

    Nothing was applied if `diagnostics.aggregated` is False, as it is in a hearing. No model but the base is
    at hand to go back to: where `wants_rewind`, that is left to the caller.

    >>> said = Aggregated(Diagnostics("median", clients=(0, 1, 2)), Verdicts(1, hearing=True))
    >>> said.is_hearing
    True
    """

    diagnostics: Diagnostics
    verdicts: Verdicts | None = None  # of the watch
    wants_rewind: bool = False

    @property
    def is_hearing(self) -> bool:
        """Whether the model stays as it is because clients are heard first."""
        return self.verdicts is not None and self.verdicts.hearing

    def __str__(self) -> str:
        """Return the diagnostics, the verdicts, and what is left to do."""
        if self.is_hearing:  # that no rule ran is no failure
            lines = [f"dropped {drop}" for drop in self.diagnostics.dropped]
            lines += [f"attention: {sentence}" for sentence in self.diagnostics.attention]
        else:
            lines = [str(self.diagnostics)]
        lines += [] if self.verdicts is None else [f"watch, {self.verdicts}"]
        return "\n".join([*lines, *([f"  REWIND: {REWIND}"] if self.wants_rewind else [])])

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain values, ready for json.dumps; verdicts only where there was a watch."""
        said = {"diagnostics": self.diagnostics.as_dict()}
        if self.verdicts is None:
            return said
        return {**said, "verdicts": self.verdicts.as_dict(), "wants_rewind": self.wants_rewind}


def aggregate_files(
    clients: Sequence[str | Path] | Mapping[str, str | Path],
    rule: Any,
    *,
    base: str | Path,
    out: str | Path,
    names_in: str | Path | None = None,
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
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> Aggregated:
    """Aggregate clients' files by a rule, and write the next model.

    The model's bits are those of `defend(models, rule, base=base).model` in memory. A client whose file
    cannot be used is dropped, with the reason. A client's name never depends on other clients' files: if two
    files have one name, that client is dropped, and all others keep their names.

    Args:
        clients: One path per client, named by its file without the ending; or a mapping of names to paths.
        rule: The rule, with its settings.
        base: The global model.
        out: The file for the next model.
        names_in: The folder that holds a folder per client: clients are named by these folders.
        weights: A JSON file with the number of examples per client. A client without one is dropped.
        reference: The model that the server trained itself.
        state: The file in which rule and watch keep their memory between rounds.
        seed: The same seed and base repeat all random draws; the next round draws anew.
        only: Patterns of the tensors to aggregate.
        buffers: Patterns of the tensors that no rule applies to.
        are_updates: Files hold differences from the base, not models.
        explain: Measure each client.
        memory: Bytes to use, or text such as "1GB".
        workers: "ray", or a cluster's address.
        watch: A watch, such as `factions()`; it knows clients by their names.
        ledger: The ledger to write the round into; clients that are banned there do not participate.
        progress: Called with the number of the pass, and how much of it is done.

    Returns:
        The diagnostics of the round and the verdicts of the watch.

    >>> import tempfile
    >>> import numpy as np
    >>> from holdfast import median
    >>> from holdfast.files import save_tensors
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name, x in {"base": 0.0, "ann": 1.0, "bob": 2.0, "eve": 99.0}.items():
    ...     save_tensors(folder / f"{name}.safetensors", {"w": np.full(3, x, np.float32)})
    >>> base, *clients = [folder / f"{name}.safetensors" for name in ("base", "ann", "bob", "eve", "dan")]
    >>> said = aggregate_files(clients, median, base=base, out=folder / "next.safetensors")
    >>> print(said.diagnostics.dropped[0])
    client dan: cannot be opened: No such file or directory
    """
    bound, sent, base, out = bind(rule), name_clients(clients, names_in), Path(base), Path(out)
    weights, reference, state = _path(weights), _path(reference), _path(state)
    _check_inputs(bound, watch, reference, state)
    given = {"the base": base, "the output": out, "the state": state, "the reference": reference}
    check_roles(sent.paths, {**given, "the weights": weights, "the ledger": _path(ledger)})
    own = open_own(base, name="the base")
    check_output(out, own)
    facts: dict[str, Any] = {"rule": str(bound), "watch": None if watch is None else str(watch)}
    with (
        _remembering(state),
        booked(ledger, **facts) as book,
        _room(out, memory, workers, progress) as room,
        ExitStack() as written,
    ):
        facts["model_before"] = book.hash_of(base)
        files = open_round(
            sent,
            own,
            weights=weights,
            only=only,
            buffers=buffers,
            are_updates=are_updates,
            explain=explain or ledger is not None,
            home=room,
        )
        defended = defend_screened(
            book.without_banned(files.screened),
            bound,
            state=None if state is None else load_memory(state, bound, room),
            reference=None if reference is None else files.update_of(reference),
            rng=round_rng(seed, own) if bound.needs("rng") or watch else None,
            params=files.params() if bound.needs("params") else None,
            watch=watch,
            pardoned=book.pardoned,
            apply=lambda update, extra: written.enter_context(
                written_model(Path(out), own, files.steps(update), extra)
            ),
        )
        said, verdicts = defended.diagnostics, defended.verdicts
        log_attention(said)
        if state is not None and (said.aggregated or verdicts):
            save_memory(state, bound, defended.state)  # if this fails, the model is not written either
        written.close()  # the model has its name now
        book.write(
            said,
            verdicts,
            asked=[*sent.by_client],
            examples=files.examples,
            model_after=book.hash_of(out),
            **facts,
        )
    if verdicts is None:
        return Aggregated(said)
    return Aggregated(said, replace(verdicts, rewound=False), wants_rewind=verdicts.rewound)


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


@contextmanager
def _room(out: Path, memory: int | str, workers: str | None, progress: Progress | None) -> Iterator[Room]:
    """Yield the home of the rows: this process, or a cluster that is joined meanwhile."""
    folder, n_bytes = out.resolve().parent, n_bytes_of(memory) if isinstance(memory, str) else memory
    if workers is None:
        yield Room(folder, n_bytes, progress)
        return
    with connected(workers) as n_cores:
        yield RayRoom(folder, n_bytes, progress, n_cores=n_cores)


@contextmanager
def _remembering(state: Path | None) -> Iterator[None]:
    """Hold the memory for one round: of two rounds at once, the later would forget what the other saw."""
    if state is None:
        yield
        return
    with held(lock_of(state.absolute())) as is_ours:
        if not is_ours:
            raise InputError(
                f"another round uses the state {state}: wait until it has ended, then repeat this one"
            )
        yield


def _check_inputs(rule: Rule, watch: Watch | None, reference: Any, state: Any) -> None:
    """Raise if the rule or the watch lacks something that it cannot do without."""
    if watch is not None and state is None:
        raise InputError(
            f"{watch.name} remembers the clients between rounds: name a file for it (state=, --state)"
        )
    if rule.needs("reference") and reference is None:
        raise InputError(f"{rule.name} needs a reference: the file of a model trained on the server's data")
    if (rule.needs("state") or rule.needs("previous")) and state is None:
        what = "a state" if rule.needs("state") else "the last update"
        raise InputError(f"{rule.name} keeps {what} between rounds: name a file for it (state=, --state)")
