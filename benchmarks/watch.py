"""Time and memory of a watch: among thousands of clients, and beside the aggregation of ResNet-18.

Each case has a process of its own. `make bench-watch` writes benchmarks/results/watch.json if no other
process was busy meanwhile, else a draft.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from holdfast import factions, trimmed_mean
from holdfast.updates import rows_of
from holdfast.watching import ClientMemory

from .budget import available_memory
from .cases import RESNET18, is_disturbed
from .data import Updates
from .machine import describe, one_line
from .measure import interleaved, peak_beyond, seconds_of
from .summary import rounded

__all__ = ["beside_aggregation", "lines", "main", "many_clients"]

ROOT, RESULTS = Path(__file__).parent.parent, Path(__file__).parent / "results"
N_MANY, N_SAMPLED, N_PER_ROUND = 10_000, 16_384, 20
N_RESNET, N_PLOTTERS = 100, 0.1
CASES = ("many clients", "many clients, a faction", "beside aggregation")


def remembered(n_clients: int, dim: int, *, n_apart: int = 0) -> ClientMemory:
    """Return a memory in which all were heard three times, and some push the same way."""
    rng = np.random.default_rng(0)
    push = rng.standard_normal(dim, dtype=np.float32)
    rows = np.empty(n_clients, object)
    for client in range(n_clients):
        row = rng.standard_normal(dim, dtype=np.float32) + (push if client < n_apart else 0)
        rows[client] = np.clip(2000 * row, -8192, 8192).astype(np.int16)
    heard, none = np.full(n_clients, 3, np.int32), np.zeros(n_clients, np.int32)
    return ClientMemory(
        tuple(range(n_clients)),
        rows,
        heard=heard,
        last=heard,
        looks=heard,
        evidence=np.zeros(n_clients),
        faction=none,
        since=none,
        certain=np.zeros(n_clients, bool),
        squares=np.full(n_clients, 4e6 * dim),
        length=np.ones(n_clients),
        round=3 * n_clients // N_PER_ROUND,
        n_applied=1,
        seed=0,
    )


def many_clients(n_clients: int, n_sampled: int, *, n_apart: int = 0) -> dict[str, Any]:
    """Return what one round takes in which a few of very many clients speak, and all are looked at."""
    state = remembered(n_clients, n_sampled, n_apart=n_apart)
    sent = Updates(N_PER_ROUND, n_sampled).rows
    spoke = np.linspace(0, n_clients - 1, N_PER_ROUND).astype(int)

    def watch() -> Any:
        return factions(sent, clients=spoke, state=state, sample=n_sampled)

    watch()  # compiles
    found = interleaved(watch, lambda: None, repeat_for=30.0)
    peak, watched = peak_beyond(watch)
    return {
        "n_clients": n_clients,
        "n_sampled": n_sampled,
        "n_expelled": len(watched.verdicts.of("expelled")),
        "seconds": found["seconds"],
        "seconds_quartiles": found["seconds_quartiles"],
        "state_bytes": sum(row.nbytes for row in state.rows),
        "peak_bytes": peak,
        "outside_load": found["outside_load"],
    }


def beside_aggregation(n_clients: int, dim: int) -> dict[str, Any]:
    """Return the time of the watch and of a trimmed mean on the same rows, called by turns."""
    while n_clients > N_PER_ROUND and 4.5 * n_clients * dim > available_memory():
        n_clients //= 2
    rows = rows_of(Updates(n_clients, dim).rows)
    state = remembered(n_clients, min(dim, N_SAMPLED), n_apart=round(N_PLOTTERS * n_clients))
    clients = list(range(n_clients))
    first = seconds_of(lambda: factions(rows, clients=clients, state=state))[0]
    found = interleaved(
        lambda: factions(rows, clients=clients, state=state),
        lambda: trimmed_mean(rows, alpha=0.25),
        repeat_for=30.0,
    )
    kept = ("seconds", "reference_seconds", "ratio", "ratio_quartiles", "n_turns", "outside_load")
    return {
        "n_clients": n_clients,
        "dim": dim,
        "first_call_seconds": first,
        **{name: found[name] for name in kept},
    }


def measured(case: str) -> dict[str, Any]:
    if case == "beside aggregation":
        return beside_aggregation(N_RESNET, RESNET18)
    return many_clients(N_MANY, N_SAMPLED, n_apart=N_MANY // 10 if case.endswith("faction") else 0)


def lines(found: dict[str, dict[str, Any]]) -> list[str]:
    """Return what was found, one line a case."""
    text = []
    for case, numbers in found.items():
        said = f"{case}: {numbers['n_clients']:,} clients, a round {numbers['seconds']:.2f} s"
        if "peak_bytes" in numbers:
            total = (numbers["state_bytes"] + numbers["peak_bytes"]) / 1e6
            said += (
                f", {total:.0f} MB, of which {numbers['state_bytes'] / 1e6:.0f} MB are the memory of clients"
            )
        else:
            said += f", {100 * numbers['ratio']:.1f} % of a trimmed mean of {numbers['dim']:,} numbers"
        text.append(said)
    return text


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.case:
        print(json.dumps(measured(chosen.case)))
        return
    found = {}
    for case in CASES:
        command = [sys.executable, "-m", "benchmarks.watch", "--case", case]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        found[case] = json.loads(done.stdout.splitlines()[-1])
    machine, busy = describe(), [case for case, numbers in found.items() if is_disturbed(numbers)]
    folder = RESULTS / "draft" if busy else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rounded({"machine": machine, "cases": found}), indent=1)
    (folder / "watch.json").write_text(text + "\n")
    print("\n".join([one_line(machine), *lines(found)]))
    if busy:
        print(f"Other processes were busy during {', '.join(busy)}: this is a draft.")


if __name__ == "__main__":
    main()
