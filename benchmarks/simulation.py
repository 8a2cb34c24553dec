"""Rounds a second of the simulator, beside a bare PyTorch loop and Flower's simulation engine.

All train as many clients per round on the same shards, with one network, batch size and learning rate, then
average and test. Holdfast and the loops are called by turns in this process at equal threads; Flower's engine
runs by itself right after, its rounds timed at the server from one test to the next, without its start.

    .venv-bench/bin/python -m benchmarks.simulation
"""

import argparse
import copy
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .machine import describe, one_line
from .measure import OutsideLoad

__all__ = ["main"]

RESULTS = Path(__file__).parent / "results" / "simulation.json"
#: Each way plays some rounds in a row, as a run does: a core that was idle is slow in the first of them.
N_TURNS, N_IN_A_ROW = 5, 5
N_RESNET, N_IMAGES, N_TEST = 8, 500, 1000
#: What Flower says on its way out of this process is not our result.
MARK = "round-seconds "


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--task", choices=["phishing", "digits"], default=None)
    options.add_argument("--flower-rounds", type=int, default=8)
    options.add_argument("--engine", action="store_true", help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.engine:
        flower_engine(chosen.task, chosen.flower_rounds)
        return
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


def shards_of(task_name: str) -> tuple[Any, Any, Any]:
    """Return the task, its data and each client's (x, y), as the simulator deals them."""
    from holdfast.lab import task_named
    from holdfast.lab.scenario import Run
    from holdfast.lab.simulation.world import build_world

    world = build_world(Run(task_named(task_name)), "cpu")
    return (
        world.run.task,
        world.data,
        [world.honest_examples(client, 1) for client in range(world.run.task.n_clients)],
    )


def lean_loop(task_name: str) -> Callable[[], Any]:
    """A loop over clients without any overhead that PyTorch does not need: tensors indexed, one network."""
    import torch

    task, data, shards = shards_of(task_name)
    model, rng = task.model(), np.random.default_rng(0)
    x_test, settings = torch.from_numpy(data.x_test), dict(task.train.settings)

    def one_round() -> float:
        start = copy.deepcopy(model.state_dict())
        total = {name: torch.zeros_like(values) for name, values in start.items()}
        chosen = rng.choice(task.n_clients, task.n_per_round, replace=False)
        n_examples = sum(len(shards[client][1]) for client in chosen)
        for client in chosen:
            model.load_state_dict(start)
            optimiser = torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])
            x, y = shards[client]
            for _ in range(int(task.epochs)):
                for batch in torch.randperm(len(y)).split(task.batch_size):
                    optimiser.zero_grad()
                    torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
                    optimiser.step()
            for name, values in model.state_dict().items():
                total[name] += values * (len(y) / n_examples)
        model.load_state_dict(total)
        with torch.no_grad():
            return float((model(x_test).argmax(1).numpy() == data.y_test).mean())

    return one_round


def usual_loop(task_name: str) -> Callable[[], Any]:
    """The loop as it is usually written: a copy of the network and a DataLoader for each client."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    task, data, shards = shards_of(task_name)
    model, rng = task.model(), np.random.default_rng(0)
    sets = [TensorDataset(x, y) for x, y in shards]
    test, settings = (
        TensorDataset(torch.from_numpy(data.x_test), torch.from_numpy(data.y_test)),
        dict(task.train.settings),
    )

    def one_round() -> float:
        sent = []
        chosen = rng.choice(task.n_clients, task.n_per_round, replace=False)
        for client in chosen:
            local = copy.deepcopy(model)
            optimiser = torch.optim.SGD(local.parameters(), lr=settings["lr"], momentum=settings["momentum"])
            for _ in range(int(task.epochs)):
                for x, y in DataLoader(sets[client], batch_size=task.batch_size, shuffle=True):
                    optimiser.zero_grad()
                    torch.nn.functional.cross_entropy(local(x), y).backward()
                    optimiser.step()
            sent.append((local.state_dict(), len(sets[client])))
        n_examples = sum(count for _, count in sent)
        model.load_state_dict(
            {name: sum(state[name] * (count / n_examples) for state, count in sent) for name in sent[0][0]}
        )
        n_right = 0
        with torch.no_grad():
            for x, y in DataLoader(test, batch_size=256):
                n_right += int((model(x).argmax(1) == y).sum())
        return n_right / len(test)

    return one_round


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
            optimiser = torch.optim.SGD(model.parameters(), lr=0.01)
            for batch in torch.randperm(len(y)).split(task.batch_size):
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
                optimiser.step()
        bare = time.perf_counter() - start
        model.eval()
        start = time.perf_counter()
        with torch.no_grad():
            for part in torch.from_numpy(world.data.x_test).split(1024):
                model(part)
        test = time.perf_counter() - start
        found[str(n_threads)] = {"bare": bare, "tested": record.seconds, "round": record.seconds - test}
    return found


def flower_seconds(task_name: str, n_rounds: int) -> float | None:
    """Return the median seconds of a round of Flower's engine, in a process of its own; None without it."""
    environment = {
        **os.environ,
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "benchmarks.simulation", "--engine", "--task", task_name]
    done = subprocess.run(
        [*command, "--flower-rounds", str(n_rounds)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    marked = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
    if not marked:
        print(f"Flower's engine did not run: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return statistics.median(json.loads(marked[-1].removeprefix(MARK))[2:])


def flower_engine(task_name: str, n_rounds: int) -> None:
    """Run Flower's simulation engine on the same task, and print how long each round took."""
    import torch
    from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation

    client_app, server_app = ClientApp(), ServerApp()
    ends: list[float] = []

    @client_app.train()
    def train(message: Message, context: Context) -> Message:
        task, _, shards = cached_shards(task_name)
        settings, (x, y) = dict(task.train.settings), shards[context.node_config["partition-id"]]
        model = task.model()
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])
        for _ in range(int(task.epochs)):
            for batch in torch.randperm(len(y)).split(task.batch_size):
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
                optimiser.step()
        metrics = MetricRecord({"num-examples": len(y)})
        return Message(
            RecordDict({"arrays": ArrayRecord(model.state_dict()), "metrics": metrics}), reply_to=message
        )

    @server_app.main()
    def serve(grid: Grid, context: Context) -> None:
        task, data, _ = cached_shards(task_name)
        model, x_test = task.model(), torch.from_numpy(data.x_test)

        def tested(number: int, arrays: ArrayRecord) -> MetricRecord:
            model.load_state_dict(arrays.to_torch_state_dict())
            with torch.no_grad():
                accuracy = float((model(x_test).argmax(1).numpy() == data.y_test).mean())
            ends.append(time.perf_counter())
            return MetricRecord({"accuracy": accuracy})

        strategy = FedAvg(fraction_train=task.n_per_round / task.n_clients, fraction_evaluate=0.0)
        arrays = ArrayRecord(model.state_dict())
        strategy.start(grid=grid, initial_arrays=arrays, num_rounds=n_rounds, evaluate_fn=tested)

    n_clients = shards_of(task_name)[0].n_clients
    resources = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    run_simulation(server_app, client_app, num_supernodes=n_clients, backend_config=resources)
    print(MARK + json.dumps(np.diff(ends).tolist()), flush=True)


_CACHE: dict[str, Any] = {}


def cached_shards(task_name: str) -> Any:
    if task_name not in _CACHE:
        _CACHE[task_name] = shards_of(task_name)
    return _CACHE[task_name]


if __name__ == "__main__":
    main()
