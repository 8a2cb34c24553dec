"""Rounds a second of the simulator, beside a bare PyTorch loop and Flower's simulation engine.

All train as many clients per round on the same shards, with one network, batch size and learning rate, then
average and test. Holdfast and the loops are called by turns in this process at equal threads; Flower's engine
runs by itself right after, its rounds timed at the server from one test to the next, without its start.

    .venv-bench/bin/python -m benchmarks.simulation
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .flower_engine import flower_seconds
from .loops import lean_loop, train_on, usual_loop
from .machine import describe, one_line
from .measure import OutsideLoad

__all__ = ["main"]

RESULTS = Path(__file__).parent / "results" / "simulation.json"
#: Each way plays some rounds in a row, as a run does: a core that was idle is slow in the first of them.
N_TURNS, N_IN_A_ROW = 5, 5
N_RESNET, N_IMAGES, N_TEST = 8, 500, 1000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--task", choices=["phishing", "digits"], default=None)
    options.add_argument("--flower-rounds", type=int, default=8)
    chosen = options.parse_args()
    tasks = [chosen.task] if chosen.task else ["phishing", "digits"]
    machine, found = describe(), {}
    for name in tasks:
        found[name] = {str(n): measured(name, n) for n in (1, os.cpu_count() or 1)}
        found[name]["flower"] = flower_seconds(name, chosen.flower_rounds)
    found["resnet18"] = resnet_round()
    print(f"Seconds a round, and how many times as long as holdfast's ({one_line(machine)})\n")
    for line in lines({name: numbers for name, numbers in found.items() if name != "resnet18"}):
        print(line)
    resnet = found["resnet18"]
    for threads, times in resnet.items():
        print(
            f"\nResNet-18, {N_RESNET} clients of {N_IMAGES} images, {threads} threads: the bare training"
            f" {times['bare']:.1f} s; a round {times['round'] / times['bare']:.2f} × of it, with the test of"
            f" {N_TEST} images {times['tested'] / times['bare']:.2f} ×"
        )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": machine, "tasks": found}, indent=1) + "\n")


def lines(found: dict[str, Any]) -> list[str]:
    """Return the table."""
    rows = [
        "| task | threads | holdfast | lean loop | usual loop | Flower's engine |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for name, numbers in found.items():
        engine = numbers["flower"]
        for threads, times in ((key, value) for key, value in numbers.items() if key != "flower"):
            own = times["holdfast"]
            others = [f"{times[way]:.3f} ({times[way] / own:.1f} ×)" for way in ("lean loop", "usual loop")]
            last = f"{engine:.2f} ({engine / own:.0f} ×)" if engine else "not run"
            rows.append(f"| {name} | {threads} | **{own:.3f}** | {others[0]} | {others[1]} | {last} |")
    return rows


def measured(task_name: str, n_threads: int) -> dict[str, float]:
    """Return the median seconds of a round of each way, called by turns."""
    import torch

    os.environ["HOLDFAST_THREADS"] = str(n_threads)
    torch.set_num_threads(n_threads)
    ways = {
        "holdfast": own_rounds(task_name),
        "lean loop": lean_loop(task_name),
        "usual loop": usual_loop(task_name),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    watch = OutsideLoad()
    for turn in range(N_TURNS + 1):
        for way, one_round in ways.items():
            for _ in range(N_IN_A_ROW):
                start = time.perf_counter()
                one_round()
                if turn:  # the first ones compile and warm up
                    times[way].append(time.perf_counter() - start)
    return {**{way: statistics.median(own) for way, own in times.items()}, "outside_load": watch.cores()}


def own_rounds(task_name: str) -> Callable[[], Any]:
    from holdfast.lab.choices import Numbers, build_run
    from holdfast.lab.simulation import simulate

    rounds = simulate(build_run(task_name, numbers=Numbers(n_rounds=10_000)))
    return lambda: next(rounds)


def images(*, n: int) -> Any:
    """Random images of CIFAR-10's shape: how long training takes does not hang on what they show."""
    from holdfast.lab.data import Dataset

    rng = np.random.default_rng(0)
    x = rng.normal(size=(n + N_TEST, 3, 32, 32)).astype(np.float32)
    y = rng.integers(0, 10, size=n + N_TEST)
    return Dataset(x[:n], y[:n], x[n:], y[n:])


def resnet_round() -> dict[str, dict[str, float]]:
    """Return the seconds of a round of ResNet-18, and of its clients' training alone, at equal threads."""
    from functools import partial

    import torch

    from holdfast import invariant
    from holdfast.lab.models import resnet18
    from holdfast.lab.scenario import Defence, Run, Task
    from holdfast.lab.simulation import simulate
    from holdfast.lab.simulation.world import build_world
    from holdfast.lab.training import sgd

    n_clients = N_RESNET + 1
    data = partial(images, n=n_clients * N_IMAGES + 100)
    task = Task("resnet", data, resnet18, partial(sgd, lr=0.01), n_clients=n_clients, n_per_round=N_RESNET)
    run = Run(task, defence=Defence("invariant", invariant(tau=0.2)))
    world = build_world(run, "cpu")
    found = {}
    for n_threads in {1, os.cpu_count() or 1}:
        os.environ["HOLDFAST_THREADS"] = str(n_threads)
        torch.set_num_threads(n_threads)
        rounds = simulate(run)
        next(rounds)
        record, _ = next(rounds)
        start = time.perf_counter()
        for client in record.clients:
            x, y = world.honest_examples(client, 2)
            model = resnet18()
            train_on(model, x, y, run.task)
        bare = time.perf_counter() - start
        model.eval()
        start = time.perf_counter()
        with torch.no_grad():
            for part in torch.from_numpy(world.data.x_test).split(1024):
                model(part)
        test = time.perf_counter() - start
        found[str(n_threads)] = {"bare": bare, "tested": record.seconds, "round": record.seconds - test}
    return found


if __name__ == "__main__":
    main()
