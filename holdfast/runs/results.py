"""One JSON file a run, named by Run.key, with the version that made it; checkpoints beside it, to go on from.

The records are written before the checkpoint they belong to, and that before the word "finished". So a
process that dies at any moment leaves records that reach at least as far as the checkpoint, and a run that
goes on from there drops those beyond it.
"""

import json
import logging
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from .. import __version__
from .._support.atomic import write_whole
from .._support.counting import check_whole
from ..errors import DataError
from ..lab.scenario import Run
from ..lab.simulation import Record, State, load_once, simulate
from .checkpoints import load_checkpoint, save_checkpoint

__all__ = ["Result", "checkpoint_path", "load_result", "result_path", "run_and_record"]

log = logging.getLogger("holdfast")


@dataclass(frozen=True)
class Result:
    """What is stored of a run: how it was made, and a record a round, as plain numbers, strings and lists.

    >>> from holdfast.lab import TASKS
    >>> Result.start(Run(TASKS["phishing"])).task
    'phishing'
    """

    version: str
    key: str
    run: str  # in words: everything that determines the result
    task: str
    attack: str
    defence: str
    seed: int
    device: str
    n_rounds: int
    data: str | None = None  # the checksum of the examples; None before the first round
    finished: bool = False
    records: tuple[dict[str, Any], ...] = ()

    @classmethod
    def start(cls, run: Run, *, device: str = "cpu") -> "Result":
        """Return the result of a run before its first round."""
        names = (run.task.name, run.attack.name, run.defence.name)
        return cls(__version__, run.key, run.described, *names, run.seed, device, run.task.n_rounds)

    def series(self, name: str) -> list[float | None]:
        """Return one number a round: of the record itself, or of its diagnostics."""
        return [record[name] if name in record else record["diagnostics"][name] for record in self.records]

    def last(self, name: str) -> float | None:
        """Return that number after the last round; None where there is none."""
        return self.series(name)[-1] if self.records else None

    def mean(self, name: str) -> float | None:
        """Return its mean over the rounds that have it; None where none has."""
        numbers = [number for number in self.series(name) if number is not None]
        return sum(numbers) / len(numbers) if numbers else None


def result_path(run: Run, folder: Path) -> Path:
    """Return where the result of a run is.

    >>> from holdfast.lab import TASKS
    >>> result_path(Run(TASKS["phishing"]), Path("results")).suffix
    '.json'
    """
    return folder / f"{run.key}.json"


def checkpoint_path(run: Run, folder: Path) -> Path:
    """Return where the last checkpoint of a run is: at the end, its final model.

    >>> from holdfast.lab import TASKS
    >>> checkpoint_path(Run(TASKS["phishing"]), Path("results")).suffix
    '.npz'
    """
    return folder / f"{run.key}.npz"


def load_result(run: Run, folder: Path, *, device: str = "cpu") -> Result:
    """Return what is stored of a run; a DataError if nothing is, or not by this version, or not of this run.

    >>> from holdfast.lab import TASKS
    >>> load_result(Run(TASKS["phishing"]).replace(seed=7), Path("nowhere"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: no result at nowhere...json
    """
    path = result_path(run, folder)
    if not path.is_file():
        raise DataError(f"no result at {path}")
    try:
        stored = json.loads(path.read_bytes())
        found = Result(**{**stored, "records": tuple(stored["records"])})
        rounds = [record["round"] for record in found.records]
        whole = rounds == list(range(1, len(rounds) + 1)) and len(rounds) <= run.task.n_rounds
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path} is no result, or a damaged one: {error}") from None
    start = Result.start(run, device=device)
    for name in (field.name for field in fields(Result)[:-3]):
        if getattr(found, name) != getattr(start, name):
            raise DataError(
                f"{path} is the result of something else: its {name} is {getattr(found, name)!r},"
                f" not {getattr(start, name)!r}"
            )
    if not whole or found.finished not in (False, len(rounds) == run.task.n_rounds):
        raise DataError(f"{path} is a damaged result: it holds the rounds {rounds}")
    return found


def run_and_record(
    run: Run, folder: Path, *, resume: bool = True, every: int = 5, device: str = "cpu"
) -> Iterator[Result]:
    """Yield the result so far: once at the start, then after each round; the files follow `every` few rounds.

    With `resume` a run goes on from its last checkpoint, to the same bits as if it had never stopped; a
    finished one is only read. What cannot be used is logged, and the run started anew. A run may be made by
    one process at a time in a folder.

    >>> import tempfile
    >>> from holdfast.lab import TASKS
    >>> run = Run(TASKS["phishing"]).replace(n_rounds=2, n_clients=20, n_per_round=5)
    >>> *_, result = run_and_record(run, Path(tempfile.mkdtemp()))
    >>> result.finished, result.series("round")
    (True, [1, 2])
    """
    check_whole("every", every, at_least=1)
    result, state = _found(run, folder, device) if resume else (Result.start(run, device=device), None)
    for leftover in folder.glob(f"{run.key}.*.partial"):
        leftover.unlink(missing_ok=True)
    if result.finished:
        yield result
        return
    if state is None:  # what an older attempt left must not be taken for this one's
        result_path(run, folder).unlink(missing_ok=True)
        checkpoint_path(run, folder).unlink(missing_ok=True)
    yield result
    result = replace(result, data=load_once(run.task.data).checksum)
    for record, after in simulate(run, after=state, device=device):
        result = replace(result, records=(*result.records, as_stored(record)))
        if record.round % every == 0 or record.round == run.task.n_rounds:
            _write(result, run, folder)
            save_checkpoint(checkpoint_path(run, folder), run, after, device=device)
        if record.round < run.task.n_rounds:
            yield result
    result = replace(result, finished=True)
    _write(result, run, folder)
    yield result


def _found(run: Run, folder: Path, device: str) -> tuple[Result, State | None]:
    """Return how far a run has come: its records and state after one and the same round."""
    start = Result.start(run, device=device)
    if not result_path(run, folder).exists():
        return start, None
    try:
        result = load_result(run, folder, device=device)
        if result.finished and not checkpoint_path(run, folder).exists():
            return result, None  # the final model was thrown away
        if result.data != load_once(run.task.data).checksum:
            raise DataError(f"{result_path(run, folder)} was made from other examples of {result.task}")
        if not checkpoint_path(run, folder).exists():
            return start, None  # just begun
        state = load_checkpoint(checkpoint_path(run, folder), run, device=device)
        if not 1 <= state.round <= len(result.records) or (
            result.finished and state.round < run.task.n_rounds
        ):
            raise DataError(
                f"the checkpoint of round {state.round} does not fit the {len(result.records)} rounds"
                f" in {result_path(run, folder)}"
            )
    except DataError as error:
        log.warning("%s. The run is started anew", error)
        return start, None
    return replace(result, records=result.records[: state.round]), state


def as_stored(record: Record) -> dict[str, Any]:
    """Return a record as plain numbers, strings and lists; what is measured of clients, to six digits."""
    return {
        "round": record.round,
        "accuracy": record.accuracy,
        "attack_success": record.attack_success,
        "n_attackers": record.n_attackers,
        "clients": list(record.clients),
        "attackers": list(record.attackers),
        "diagnostics": _certain(record.diagnostics.as_dict()),
        "seconds": round(record.seconds, 6),
    }


def _certain(value: Any) -> Any:
    """Return numbers to six digits, and None for what JSON does not know.

    The last digits of a sum over coordinates hang on how it was compiled; the model never does. And a result
    of hundreds of rounds stays small.
    """
    if isinstance(value, dict):
        return {name: _certain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_certain(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}") if math.isfinite(value) else None
    return value


def _write(result: Result, run: Run, folder: Path) -> None:
    text = json.dumps(asdict(result), allow_nan=False, separators=(",", ":"))
    write_whole(result_path(run, folder), text.encode())
