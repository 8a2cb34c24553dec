"""Measure time and peak memory of Robust and of Flower's own strategies on the same replies.

Each case has a process of its own. `make bench-flower` measures ResNet-18 and writes the table of
docs/flower.md; `--width 8` is a quick try.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .cases import is_disturbed
from .machine import describe, one_line
from .measure import OutsideLoad, peak_beyond, relative_distance, seconds_of
from .resnet18 import shapes
from .summary import rounded
from .table import number, write_between_markers

__all__ = ["lines", "main", "measured", "write"]

ROOT = Path(__file__).parent.parent
RESULTS = Path(__file__).parent / "results"
N_NODES, N_TURNS = 20, 5
ENOUGH = 10.0  # seconds that a contender is called for

OURS = ("Robust(invariant)", "Robust(invariant), not explained", "Robust(fedavg)")
THEIRS = ("FedAvg", "FedMedian", "FedTrimmedAvg", "Krum")


def strategies() -> dict[str, Callable[[], Any]]:
    """Return every contender; a quarter of the nodes is trimmed at each end, or expected to be malicious."""
    from flwr.serverapp import strategy as flower

    from holdfast import fedavg, invariant
    from holdfast.flower import Robust

    quarter = N_NODES // 4
    rule = invariant(alpha=0.25)
    made: list[Callable[[], Any]] = [
        lambda: Robust(rule),
        lambda: Robust(rule, explain=False),
        lambda: Robust(fedavg),
        flower.FedAvg,
        flower.FedMedian,
        lambda: flower.FedTrimmedAvg(beta=0.25),
        lambda: flower.Krum(num_malicious_nodes=quarter),
    ]
    return dict(zip(OURS + THEIRS, made, strict=True))


class Round:
    """One round's messages: the model sent out, and what each node makes of it, as Flower holds them."""

    def __init__(self, width: int) -> None:
        from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
        from flwr.supercore.task_identity import TaskIdentity

        TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
        self.shapes = shapes(width)
        rng = np.random.default_rng(0)
        base = {name: rng.normal(0, 0.05, shape).astype(np.float32) for name, shape in self.shapes.items()}
        self.model = ArrayRecord({name: Array(values) for name, values in base.items()})
        self.replies = []
        for node in range(1, N_NODES + 1):
            own = np.random.default_rng([1, node])
            arrays = ArrayRecord()
            for name, values in base.items():
                step = own.standard_normal(values.shape, dtype=np.float32)
                arrays[name] = Array(values + np.float32(0.01) * (step + np.float32(1)))
            asked = Message(RecordDict(), dst_node_id=node, message_type="train")
            metrics = MetricRecord({"num-examples": 100, "train_loss": 0.5})
            self.replies.append(Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=asked))

    def copies(self) -> list[Any]:
        """Return the replies again, without copying a number: some of Flower's strategies empty them."""
        from flwr.app import Message, RecordDict

        found = []
        for reply in self.replies:
            content = RecordDict({key: record.copy() for key, record in reply.content.items()})
            found.append(Message(content, metadata=reply.metadata))
        return found

    @property
    def dim(self) -> int:
        return sum(math.prod(shape) for shape in self.shapes.values())

    def prepared(self, strategy: Any) -> Callable[[], Any]:
        """Return a call that aggregates the replies; the model was sent out before."""
        from flwr.app import ConfigRecord

        strategy.configure_train(1, self.model, ConfigRecord(), _Nodes())
        replies = self.copies()
        return lambda: strategy.aggregate_train(1, replies)[0]


class _Nodes:
    """As much of a grid as sampling needs."""

    def get_node_ids(self) -> list[int]:
        return list(range(1, N_NODES + 1))


def measured(name: str, width: int, kind: str) -> dict[str, Any]:
    """Return a contender's time or peak memory, after a call on a tiny model that loads and compiles."""
    make = strategies()[name]
    Round(1).prepared(make())()
    one = Round(width)
    if kind == "memory":
        peak, arrays = peak_beyond(one.prepared(make()))
        n_bytes = sum(len(array.data) for array in arrays.values())
        return {"peak_bytes": peak, "new_model_bytes": n_bytes}
    # By turns with FedAvg, so that a ratio is of one moment of the machine.
    plain = strategies()["FedAvg"]
    watch, times, plain_times, cpu_times = OutsideLoad(), [], [], []
    while not times or (len(times) < N_TURNS and sum(times) < ENOUGH):
        plain_times.append(seconds_of(one.prepared(plain()))[0])
        call, busy = one.prepared(make()), time.process_time()
        seconds, arrays = seconds_of(call)
        times.append(seconds)
        cpu_times.append(time.process_time() - busy)
    name = "bn1.bias"
    mean = np.mean([reply.content["arrays"][name].numpy() for reply in one.replies], axis=0)
    return {
        "seconds": statistics.median(times),
        "cpu_seconds": statistics.median(cpu_times),  # of all threads; other processes hardly change it
        "fedavg_seconds": statistics.median(plain_times),
        "ratio_to_fedavg": statistics.median(a / b for a, b in zip(times, plain_times, strict=True)),
        "n_turns": len(times),
        "distance_from_mean": relative_distance(arrays[name].numpy(), mean),
        "outside_load": watch.cores(),
    }


def in_a_process(name: str, width: int, kind: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.flower", "--case", name, kind, "--width", str(width)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


def summarised(width: int) -> dict[str, Any]:
    """Return all cases, every one in a process of its own, called by turns with Flower's FedAvg."""
    cases: dict[str, dict[str, Any]] = {}
    for name in OURS + THEIRS:
        cases[name] = in_a_process(name, width, "time") | in_a_process(name, width, "memory")
        print(f"{name}: {cases[name]}", file=sys.stderr, flush=True)
    dim = sum(math.prod(shape) for shape in shapes(width).values())
    return {"n_nodes": N_NODES, "dim": dim, "machine": describe(), "cases": cases}


def lines(summary: dict[str, Any]) -> list[str]:
    """Return the table, as Markdown."""
    found = [
        f"{summary['n_nodes']} replies of {summary['dim']:,} float32 parameters"
        f" ({one_line(summary['machine'])}):",
        "",
        "| strategy | seconds | × FedAvg | memory beyond replies and model, MB |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, case in summary["cases"].items():
        seconds = (
            f"{case['seconds']:.2f} | {number(case['ratio_to_fedavg'])}" if "seconds" in case else "– | –"
        )
        memory = f"{case['peak_bytes'] / 1e6:.0f}" if "peak_bytes" in case else "–"
        found.append(f"| `{name}` | {seconds} | {memory} |")
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--width", type=int, default=64, help="channels of the first layer; 64 is ResNet-18")
    options.add_argument("--case", nargs=2, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.case:
        print(json.dumps(measured(chosen.case[0], chosen.width, chosen.case[1])))
        return
    write(rounded(summarised(chosen.width)), is_full=chosen.width == 64)


def write(summary: dict[str, Any], *, is_full: bool) -> None:
    """Write numbers and table; those of a small network or a busy machine are drafts, kept out of git."""
    busy = [name for name, case in summary["cases"].items() if is_disturbed(case)]
    is_final = is_full and not busy
    folder = RESULTS if is_final else RESULTS / "draft"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flower.json").write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    text = lines(summary)
    if is_final:
        write_between_markers(ROOT / "docs" / "flower.md", text)
    print("\n".join(text))
    if busy:
        print(f"Other processes were busy during {', '.join(busy)}: this is a draft.")


if __name__ == "__main__":
    main()
