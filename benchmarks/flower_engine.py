"""Rounds of Flower's simulation engine on one of the simulator's tasks, timed in a process of its own."""

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

from .loops import shards_of, train_on

__all__ = ["flower_seconds"]

#: What Flower says on its way out of its process is not our result.
MARK = "round-seconds "


def flower_seconds(task_name: str, n_rounds: int) -> float | None:
    """Return the median seconds of a round of Flower's engine, in a process of its own; None without it."""
    environment = {
        **os.environ,
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "RAY_USAGE_STATS_ENABLED": "0",
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "benchmarks.flower_engine", task_name, str(n_rounds)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
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
        x, y = shards[context.node_config["partition-id"]]
        model = task.model()
        model.load_state_dict(message.content["arrays"].to_torch_state_dict())
        train_on(model, x, y, task)
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
    flower_engine(sys.argv[1], int(sys.argv[2]))
