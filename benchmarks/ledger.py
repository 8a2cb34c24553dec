"""A ledger of many clients and rounds: how long a round takes to write, how large the file gets, how fast it
is read. `python -m benchmarks.ledger` measures 1,000 clients over 300 rounds.

`fill` is for tests, too: it writes made-up rounds through the real writer.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from holdfast.core.diagnostics import Diagnostics, Dropped
from holdfast.ledger import Ledger, RoundEntry, entry_of, open_ledger, verify
from holdfast.watching import Verdict, Verdicts

N_HEARINGS = 3


def made_up_rounds(*, n_clients: int, n_rounds: int, seed: int = 0) -> Iterator[RoundEntry]:
    """Yield rounds as a watched training has them: a tenth attacks, and is expelled in time."""
    rng = np.random.default_rng(seed)
    ids = [int(number) for number in rng.choice(2**48, size=n_clients, replace=False)]
    n_attackers = max(1, n_clients // 10)
    named_in = N_HEARINGS + 1 + rng.integers(0, max(2, n_rounds // 3), size=n_attackers)
    apart = rng.normal(size=(n_clients, 2))
    apart[:n_attackers] += 4.0
    examples = {
        client: float(count) for client, count in zip(ids, rng.integers(50, 900, n_clients), strict=True)
    }
    for number in range(1, n_rounds + 1):
        is_hearing = number <= N_HEARINGS
        gone = {ids[i] for i in np.flatnonzero(named_in < number)}
        silent = set(rng.choice(ids, size=n_clients // 50, replace=False).tolist()) - gone
        used = () if is_hearing else tuple(id for id in ids if id not in gone and id not in silent)
        dropped = (
            *(Dropped(id, "expelled") for id in sorted(gone)),
            *(Dropped(id, "no reply came") for id in sorted(silent)),
        )
        codes = dict.fromkeys(gone, 13) | dict.fromkeys(silent, 12)
        said = Diagnostics(
            rule="invariant",
            clients=used,
            dropped=dropped,
            aggregated=not is_hearing,
            kept_fraction=None if is_hearing else float(rng.uniform(0.3, 0.5)),
            tolerates=n_clients // 4,
            norms=rng.lognormal(size=len(used)),
            cosines=rng.normal(0.4, 0.1, size=len(used)).clip(-1, 1),
            trimmed_share=rng.uniform(0.4, 0.6, size=len(used)),
            opposed_share=rng.uniform(0.2, 0.4, size=len(used)),
        )
        verdicts = Verdicts(
            number,
            tuple(
                _verdict(ids[i], number, int(named_in[i]) if i < n_attackers else None, apart[i], rng)
                for i in range(n_clients)
            ),
            hearing=is_hearing,
            shared=0.1,
        )
        yield entry_of(
            said,
            verdicts,
            round=number,
            rule="invariant(tau=0.6, alpha=0.25, strict=False)",
            watch="factions(mode='expel')",
            asked=ids,
            examples=examples,
            codes=codes,
            model_before=f"{number - 1:064x}",
            model_after=f"{number:064x}",
            seconds=float(rng.uniform(20, 30)),
            accuracy=1 - 0.9 * 0.98**number,
            loss=2.3 * 0.98**number,
        )


def _verdict(
    client: int, number: int, named: int | None, place: np.ndarray, rng: np.random.Generator
) -> Verdict:
    where = tuple(float(x) for x in (place + rng.normal(0, 0.05, 2)).round(3))
    if number <= N_HEARINGS or named is None or number < named - 1:
        standing = "too early to tell" if number <= N_HEARINGS else "clear"
        return Verdict(client, standing, heard=number, place=where)
    if number < named:
        return Verdict(client, "suspected", heard=number, false_alarm=0.08, faction=1, place=where)
    return Verdict(client, "expelled", heard=number, false_alarm=0.001, faction=1, since=named, place=where)


def fill(
    ledger: Ledger, *, n_clients: int, n_rounds: int, seed: int = 0, seconds: float = 25.0
) -> list[tuple[float, float]]:
    """Write made-up rounds, `seconds` apart; return what each write took, by clock and by processor."""
    ledger.begin(source="flower", rule="invariant(tau=0.6, alpha=0.25, strict=False)", min_replies=3)
    took, end = [], time.time()
    for entry in made_up_rounds(n_clients=n_clients, n_rounds=n_rounds, seed=seed):
        started, worked = time.perf_counter(), time.process_time()
        ledger.write(entry, at=end - seconds * (n_rounds - entry.round))
        took.append((time.perf_counter() - started, time.process_time() - worked))
    return took


def measured(folder: Path, *, n_clients: int, n_rounds: int) -> dict[str, float]:
    """Return what writing and reading such a ledger takes."""
    path, found = folder / "federation.db", {}
    with open_ledger(path) as ledger:
        took = fill(ledger, n_clients=n_clients, n_rounds=n_rounds)
    walls, processors = 1e3 * np.array(took).T
    found["write_median_ms"], found["write_max_ms"] = float(np.median(walls)), float(walls.max())
    found["write_processor_ms"] = float(np.median(processors))  # on a machine with other work, the truer one
    found["db_mb"] = path.stat().st_size / 1e6
    found["audit_mb"] = sum(one.stat().st_size for one in folder.glob("*.jsonl")) / 1e6
    with open_ledger(path, read_only=True) as ledger:
        for name in ("overview", "rounds", "clients", "timeline", "map"):
            started = time.perf_counter()
            getattr(ledger, name)()
            found[f"{name}_ms"] = 1e3 * (time.perf_counter() - started)
        first = ledger.clients()[0]["id"]
        started = time.perf_counter()
        ledger.client(first)
        found["client_ms"] = 1e3 * (time.perf_counter() - started)
    started = time.perf_counter()
    assert verify(path).holds
    found["verify_s"] = time.perf_counter() - started
    return {name: round(value, 2) for name, value in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder), n_clients=given.clients, n_rounds=given.rounds), indent=2))
