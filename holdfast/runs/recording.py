"""A run that is written down while it is made, and resumed where it stopped.

In the making it is KEY.making.json and KEY.making.npz, its checkpoint. Once finished it is KEY.json and
KEY.npz; an older result stays there until then. Records are written before the checkpoint they belong to: a
process that dies at any moment leaves records that reach at least as far as the checkpoint, and a run that is
resumed from there drops those beyond it. Only the process that holds KEY.lock writes them.
"""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from .._support.counting import check_whole
from .._support.locks import held, held_here
from .._support.printable import printable
from ..core import Bound
from ..errors import DataError
from ..lab.data.folders import VARIABLE
from ..lab.scenario import Run
from ..lab.simulation import State, load, load_once, simulate
from .checkpoints import load_checkpoint, save_checkpoint
from .ledgers import written_down
from .records import stored_record
from .results import Result, find_result
from .store import files_of
from .warm import warm_state

__all__ = ["check_data", "data_checksum", "final_state", "find_current", "run_and_record"]

log = logging.getLogger("holdfast")

PAUSE = 0.5  # seconds between two looks at what another process makes


def run_and_record(
    run: Run,
    folder: Path,
    *,
    resume: bool = True,
    every: int = 5,
    device: str = "cpu",
    ledger: Path | None = None,
) -> Iterator[Result]:
    """Yield the result so far: once at the start, then after each round; the files follow `every` few rounds.

    With `resume` a run continues from its last checkpoint, to the same bits as if it had never stopped, and a
    finished one is only read, whatever device made it. What cannot be used is logged with the reason. Without
    `resume`, a finished result is kept until the new one is finished. While another process makes the same
    run, this follows it and returns its result; if it dies, this takes over. With a `ledger`, every round
    that is made here is also written there.

    >>> import tempfile
    >>> from holdfast.lab import TASKS
    >>> run = Run(TASKS["phishing"]).replace(n_rounds=2, n_clients=20, n_per_round=5)
    >>> *_, result = run_and_record(run, Path(tempfile.mkdtemp()))
    >>> result.finished, result.n_done
    (True, 2)
    """
    check_whole("every", every, at_least=1)
    old, unusable = find_current(run, folder)
    if resume and old is not None and old.finished:
        told = f"the result {run.key} is stored already, so nothing is written to {ledger}"
        _warn([*unusable, *([told] if ledger else [])])
        yield old
    else:
        yield from _in_turn(run, folder, old, resume=resume, every=every, device=device, ledger=ledger)


def _in_turn(
    run: Run,
    folder: Path,
    old: Result | None,
    *,
    resume: bool,
    every: int,
    device: str,
    ledger: Path | None,
) -> Iterator[Result]:
    """Yield the result so far: what another process makes of the run while it does, and then our own."""
    lock, n_seen = files_of(run.key, folder).lock, -1
    while True:
        with held(lock) as is_ours:
            if is_ours or held_here(lock):  # by an iterator that was left in the middle
                resume = resume or _is_newer(find_current(run, folder)[0], old)
                made = _rounds(run, folder, resume=resume, every=every, device=device, ledger=ledger)
                for result in made:
                    if not result.finished:
                        yield result
                break
        if n_seen < 0:
            log.warning("another process makes %s in %s: its result will be ours", run.key, folder)
        now = find_current(run, folder)[0]
        if now is None or now.finished:  # it is the one from before
            now = Result(run.description, device)
        if now.n_done > n_seen:
            n_seen = now.n_done
            yield now
        time.sleep(PAUSE)
    yield result


def _rounds(
    run: Run, folder: Path, *, resume: bool, every: int, device: str, ledger: Path | None
) -> Iterator[Result]:
    """Yield the result so far, at the start and after each round; nobody else writes its files meanwhile."""
    result, state = _resumed(run, folder, device) if resume else (Result(run.description, device), None)
    yield result
    if result.finished:
        return
    result = replace(result, data=load_once(run.task.data).checksum)
    files = files_of(run.key, folder)
    start = state or warm_state(run, folder, device=device)
    for record, after in written_down(simulate(run, after=start, device=device), ledger, run, after=state):
        result = replace(result, records=(*result.records, stored_record(record)))
        if record.round % every == 0 or record.round == run.task.n_rounds:
            result.write(files.making)
            save_checkpoint(files.checkpoint, run, after, device=device)
        if record.round < run.task.n_rounds:
            yield result
    result = replace(result, finished=True)
    with suppress(FileNotFoundError):  # it has its name already, from before a kill
        os.replace(files.checkpoint, files.model)
    result.write(files.result)
    files.making.unlink(missing_ok=True)
    yield result


def _resumed(run: Run, folder: Path, device: str) -> tuple[Result, State | None]:
    """Return how far a run has come: its records, and the state after the last of them."""
    result, unusable = find_current(run, folder)
    _warn(unusable)
    if result is None or result.finished:
        return result or Result(run.description, device), None
    files = files_of(run.key, folder)
    stopped_at_the_end = result.n_done == run.task.n_rounds and not files.checkpoint.exists()
    path = files.model if stopped_at_the_end else files.checkpoint
    try:
        state = load_checkpoint(path, run, device=device) if path.exists() else None
        if state and not 1 <= state.round <= result.n_done:
            raise DataError(f"{path} is of round {state.round}, but there are {result.n_done} records")
    except DataError as error:
        log.warning("%s; the run is made anew", error)
        state = None
    if state is None:
        return Result(run.description, device), None
    return replace(result, records=result.records[: state.round]), state


def _is_newer(result: Result | None, old: Result | None) -> bool:
    """Return whether a result was finished since another was read."""
    return result is not None and result.finished and result != old


def _warn(reasons: list[str]) -> None:
    for reason in reasons:
        log.warning("%s", reason)


def find_current(run: Run, folder: Path) -> tuple[Result | None, list[str]]:
    """Return what is stored of a run, unless it was made from other examples, and why files are not used.

    >>> from holdfast.lab import TASKS
    >>> find_current(Run(TASKS["phishing"]), Path("nowhere"))
    (None, [])
    """
    result, unusable = find_result(run, folder)
    try:
        if result is not None:
            check_data(result.data, run.task.data)
    except DataError as error:
        return None, [*unusable, f"{run.key} in {folder} cannot be used: {error}"]
    return result, unusable


def check_data(checksum: str | None, data: Bound[Any]) -> None:
    """Raise a DataError if today's examples have another checksum; where they are absent, nothing is known.

    >>> from holdfast.lab import TASKS
    >>> check_data("0123456789", TASKS["digits"].data)
    Traceback (most recent call last):
    holdfast.errors.DataError: it was made from other examples: the checksum was 01234567, now it is 13f449db
    """
    try:
        now = data_checksum(data)
    except DataError:
        return
    if checksum != now:
        raise DataError(
            f"it was made from other examples: the checksum was {printable(checksum):.8}, now it is {now:.8}"
        )


def final_state(run: Run, folder: Path, *, device: str = "cpu") -> State:
    """Return the state after a run's last round, from its checkpoint; the run is made where there is none.

    >>> import tempfile
    >>> from holdfast.lab import TASKS
    >>> run = Run(TASKS["phishing"]).replace(n_rounds=1, n_clients=20, n_per_round=5)
    >>> final_state(run, Path(tempfile.mkdtemp())).round
    1
    """
    path = files_of(run.key, folder).model
    for resume in (True, False):  # a finished run is only read, and its model may be gone
        for _ in run_and_record(run, folder, resume=resume, device=device):
            pass
        with suppress(DataError):
            state = load_checkpoint(path, run, device=device)
            if state.round == run.task.n_rounds:
                return state
    return load_checkpoint(path, run, device=device)


def data_checksum(data: Bound[Any]) -> str:
    """Return the checksum of a data set, read once per process; a DataError where it is not there.

    >>> from holdfast.lab import TASKS
    >>> len(data_checksum(TASKS["digits"].data))
    64
    """
    return _checksum(data, data.identity, os.environ.get(VARIABLE))


@cache
def _checksum(data: Bound[Any], identity: str, folder: str | None) -> str:
    """Return the checksum of what a loader gives, which may use variables and a folder that change."""
    return load(data).checksum
