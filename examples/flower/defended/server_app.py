"""The server: a stock ServerApp, with a robust strategy in the place of FedAvg."""

import json
import logging
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import Result

from holdfast import factions, fedavg, invariant
from holdfast.flower import Robust

from .task import TASKS, answers, data_of, planted

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config, task = context.run_config, TASKS[context.run_config["task"]]
    if config["drill"]:
        logging.getLogger("flwr").warning("THIS RUN IS A DRILL: nodes that have a part in it attack")
    strategy = Robust(
        invariant(tau=config["tau"], alpha=config["alpha"]) if config["defended"] else fedavg,
        watch=factions() if config["watch"] else None,
        fraction_evaluate=config["fraction-evaluate"],
        min_available_nodes=config["nodes"],
    )
    result = strategy.start(
        grid=grid,
        initial_arrays=ArrayRecord(task.fresh_model().state_dict()),
        num_rounds=config["rounds"],
        timeout=config["timeout"],
        evaluate_fn=lambda _, arrays: measured(config["task"], arrays),
    )
    if strategy.verdicts is not None:
        print(strategy.verdicts)
    if config["out"]:
        save(Path(config["out"]), result)


def measured(name: str, arrays: ArrayRecord) -> MetricRecord:
    """Return how good the model is, and how often the drill's backdoor opens it."""
    data, model = data_of(name), TASKS[name].fresh_model()
    model.load_state_dict(arrays.to_torch_state_dict())
    backdoor = planted(data)
    return MetricRecord(
        {
            "accuracy": float((answers(model, data.x_test) == data.y_test).mean()),
            "attack-success": float((answers(model, backdoor.challenge) == backdoor.target).mean()),
        }
    )


def save(folder: Path, result: Result) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / "model.npz", **{name: array.numpy() for name, array in result.arrays.items()})
    rounds = {
        "train": result.train_metrics_clientapp,
        "evaluate": result.evaluate_metrics_clientapp,
        "server": result.evaluate_metrics_serverapp,
    }
    metrics = {
        part: {number: dict(record) for number, record in records.items()} for part, records in rounds.items()
    }
    (folder / "result.json").write_text(json.dumps(metrics, indent=1))
