"""A simulated run in the same ledger as a real federation, written while it is made."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..lab.leaks import Let
from ..lab.scenario import Run
from ..lab.simulation import Record, State
from ..ledger import RoundEntry, entry_of, model_hash, open_ledger

__all__ = ["written_down"]


def written_down(
    rounds: Iterable[tuple[Record, State]], path: Path | None, run: Run, *, after: State | None
) -> Iterator[tuple[Record, State]]:
    """Yield the rounds of a run, each once it is in the ledger; without a path, just as they are.

    A run that resumes continues its ledger: rounds after the one that it resumes from no longer count.
    """
    if path is None:
        yield from rounds
        return
    with open_ledger(path) as ledger:
        about = {"name": f"{run.task.name}, {run.attack.name}", "key": run.key, "n_rounds": run.task.n_rounds}
        ledger.begin(after=after.round if after else 0, source="simulator", **about, **_defence(run))
        before = None if after is None else _hash_of(after)
        for record, state in rounds:
            now = _hash_of(state)
            ledger.write(_entry(record, run, before, now))
            before = now
            yield record, state


def _entry(record: Record, run: Run, before: str | None, now: str) -> RoundEntry:
    whitewashed = run.attack.whitewashes  # then attackers are heard under ids that nobody has asked for
    names = ("n_attackers", "n_found", "n_wronged", "minority_accuracy", *Let._fields)
    known = {name: getattr(record, name) for name in names}
    return entry_of(
        record.diagnostics,
        record.verdicts,
        round=record.round,
        **_defence(run),
        asked=None if whitewashed else record.clients,
        examples=dict(zip(record.clients, record.examples, strict=False)),
        model_before=before,
        model_after=now,
        seconds=record.seconds,
        accuracy=record.accuracy,
        attack_success=record.attack_success,
        metrics={name: value for name, value in known.items() if value is not None},
    )


def _defence(run: Run) -> dict[str, Any]:
    watch = run.defence.watch
    return {"rule": str(run.defence.aggregate), "watch": None if watch is None else str(watch)}


def _hash_of(state: State) -> str:
    return model_hash({"params": state.params, **state.buffers})
