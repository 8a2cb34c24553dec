"""Aggregating files against reading the same files: time, own memory, growth with the size of the model.

    python -m benchmarks.files --folder /some/disk --out benchmarks/results/files.json

With 100 million parameters and 20 clients, the default, it needs 9 GB of disk and some minutes.
Cold: the files were dropped from the page cache (posix_fadvise) before each run, so both read the disk. Warm:
both find all files in the page cache, where there is room for them. Reading is done by as many threads as
aggregating, each taking file after file, 1 MiB at a time. Memory is the process's anonymous memory (RssAnon),
sampled every 5 ms.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from .machine import describe, one_line
from .measure import OutsideLoad, seconds_of

__all__ = ["main"]

RULES = {
    "invariant": {"tau": 0.6, "alpha": 0.25},
    "multi_krum": {"n_malicious": 4},
    "rfa": {},
    "median": {},
}
SHARE_OF_DISK = 0.8
N_TURNS = 3


def main() -> None:
    """Measure, print a table, and store the numbers."""
    given = _arguments()
    if given.work:
        print(json.dumps(_measured(json.loads(given.work))))
        return
    dim = _fitting(given.dim, given.clients, given.folder)
    results = []
    for part in (4, 2, 1):
        folder = Path(tempfile.mkdtemp(prefix="holdfast-files-", dir=given.folder))
        try:
            make_files(folder, given.clients, dim // part)
            for rule in given.rules.split(",") if part == 1 else ["invariant"]:
                for is_cold in (True, False):
                    results.append(_in_process(folder, rule, given.memory, is_cold))
                    print(_line(results[-1]), flush=True)
        finally:
            shutil.rmtree(folder)
    # Not the folder: where files lay on this machine says nothing about the numbers.
    asked = {"clients": given.clients, "dim": given.dim, "memory": given.memory, "rules": given.rules}
    document = {"machine": describe(), "asked": asked, "results": results}
    if given.out:
        Path(given.out).write_text(json.dumps(document, indent=1) + "\n")
    print(one_line(document["machine"]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--dim", type=int, default=100_000_000)
    parser.add_argument("--memory", default="1GB")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    parser.add_argument("--rules", default=",".join(RULES))
    parser.add_argument("--out")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args()


def _fitting(dim: int, n_clients: int, folder: str) -> int:
    """Return how many parameters there is room for, and say so if it is fewer than asked for."""
    room = SHARE_OF_DISK * shutil.disk_usage(folder).free
    most = int(room / (4 * (n_clients + 3)))
    if most < dim:
        print(f"only {room / 1e9:.0f} GB of disk are to be had: {most:,} parameters instead of {dim:,}")
    return min(dim, most)


def make_files(folder: Path, n_clients: int, dim: int) -> None:
    """Write a base and clients' models near it, in layers of different sizes, a piece at a time."""
    from holdfast.files.header import encoded

    sizes = {"embedding": dim // 3, "middle": dim // 2, "head": dim - dim // 3 - dim // 2}
    header = encoded({name: ("F32", (size,)) for name, size in sizes.items()}, {})
    for number in range(n_clients + 1):
        name = "base" if number == n_clients else f"client-{number:03}"
        with open(folder / f"{name}.safetensors", "wb") as file:
            file.write(header.raw)
            for start in range(0, dim, 1 << 22):
                rng = np.random.default_rng([number, start])
                file.write(rng.standard_normal(min(1 << 22, dim - start), dtype=np.float32).data)
            file.flush()
            os.fsync(file.fileno())


def _in_process(folder: Path, rule: str, memory: str, is_cold: bool) -> dict[str, Any]:
    """Return what a fresh process measures: nothing that went before it counts as its memory."""
    task = json.dumps({"folder": str(folder), "rule": rule, "memory": memory, "is_cold": is_cold})
    command = [sys.executable, "-m", "benchmarks.files", "--work", task]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _measured(task: dict[str, Any]) -> dict[str, Any]:
    folder = Path(task["folder"])
    base, *clients = sorted(folder.glob("*.safetensors"))
    call = _aggregation(base, clients, task["rule"], task["memory"])
    _compile(task["rule"])
    forget = _forget if task["is_cold"] else lambda paths: None
    times, readings, peaks = [], [], []
    busy: dict[str, list[float]] = {"reading": [], "aggregating": []}
    if not task["is_cold"]:
        _read_all([base, *clients])
    watch = OutsideLoad()
    for _ in range(N_TURNS):
        forget([base, *clients])
        before = time.process_time()
        readings.append(seconds_of(lambda: _read_all([base, *clients]))[0])
        busy["reading"].append(time.process_time() - before)
        forget([base, *clients])
        before = time.process_time()
        with AnonymousMemory() as memory:
            times.append(seconds_of(call)[0])
        busy["aggregating"].append(time.process_time() - before)
        peaks.append(memory.peak)
    ratios = [a / b for a, b in zip(times, readings, strict=True)]
    n_bytes = sum(path.stat().st_size for path in (base, *clients))
    return {
        "rule": task["rule"],
        "n_clients": len(clients),
        "dim": (base.stat().st_size - 8) // 4,
        "state": "cold" if task["is_cold"] else "warm",
        "input_bytes": n_bytes,
        "seconds": statistics.median(times),
        "reading_seconds": statistics.median(readings),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "processor_seconds": statistics.median(busy["aggregating"]),
        "reading_processor_seconds": statistics.median(busy["reading"]),
        "peak_anonymous_bytes": max(peaks),
        "memory": task["memory"],
        "outside_load": watch.cores(),
    }


def _aggregation(base: Path, clients: list[Path], rule: str, memory: str) -> Callable[[], Any]:
    from holdfast import aggregators
    from holdfast.files import aggregate_files

    bound = getattr(aggregators, rule)(**RULES[rule])
    out = base.with_name("next.out")
    return lambda: aggregate_files(clients, bound, base=base, out=out, memory=memory)


def _compile(rule: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_files(Path(folder), 20, 1000)
        base, *clients = sorted(Path(folder).glob("*.safetensors"))
        _aggregation(base, clients, rule, "1GB")()


def _read_all(paths: list[Path]) -> None:
    from holdfast._support.threads import n_threads

    with ThreadPoolExecutor(n_threads()) as pool:
        list(pool.map(_read, paths))


def _read(path: Path) -> None:
    buffer = bytearray(1 << 20)
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass


def _forget(paths: list[Path]) -> None:
    """Drop the files from the page cache; clean pages only, so what was written is on the disk first."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class AnonymousMemory:
    """Samples the memory that is this process's own, files' pages not counted, until it is left."""

    def __enter__(self) -> "AnonymousMemory":
        self.peak, self.is_over = 0, threading.Event()
        self.thread = threading.Thread(target=self._sample, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.is_over.set()
        self.thread.join()

    def _sample(self) -> None:
        while not self.is_over.wait(0.005):
            found = re.search(r"^RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
            self.peak = max(self.peak, 1024 * int(found[1]) if found else 0)


def _line(found: dict[str, Any]) -> str:
    return (
        f"{found['rule']:12} {found['n_clients']} x {found['dim']:>12,}  {found['state']}"
        f"  {found['seconds']:7.2f} s  reading {found['reading_seconds']:7.2f} s  ratio {found['ratio']:.2f}"
        f"  processor {found['processor_seconds']:.2f} s, {found['reading_processor_seconds']:.2f} s"
        f"  anonymous {found['peak_anonymous_bytes'] / 1e6:.0f} MB  others' load {found['outside_load']:.1f}"
    )


if __name__ == "__main__":
    main()
