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
log = logging.getLogger("flwr")

#: Above this share of triggered inputs that get the attacker's label, the backdoor is in.
LET_IN = 0.1


@app.main()
def main(grid: Grid, context: Context) -> None:
    config, task = context.run_config, TASKS[context.run_config["task"]]
    if config["drill"]:
        log.warning("THIS RUN IS A DRILL: nodes that have a part in it attack")
    n_nodes = len(list(grid.get_node_ids()))
    if n_nodes < config["nodes"]:
        log.warning(
            "%d of %d nodes are here, the others are waited for. A simulation has as many as you ask for:"
            " --federation-config 'num-supernodes=%d'",
            *(n_nodes, config["nodes"], config["nodes"]),
        )
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
    print(verdict(result, is_drill=config["drill"], is_defended=config["defended"]))
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


def verdict(result: Result, *, is_drill: bool, is_defended: bool) -> str:
    """Return what came of the training: how good the model is, and whether the backdoor got in."""
    last = result.evaluate_metrics_serverapp[max(result.evaluate_metrics_serverapp)]
    success = last["attack-success"]
    facts = (
        f"accuracy {last['accuracy']:.1%}; {success:.1%} of inputs with the trigger get the attacker's label"
    )
    if not is_drill:
        return f'{facts}. Nobody attacked: call a drill, drill=true drill-parts="2:backdoor"'
    found = "GOT IN" if success > LET_IN else "was kept out"
    step = "Try it without: defended=false" if is_defended else "Try it with a defence: defended=true"
    return f"The backdoor {found} ({facts}; {LET_IN:.0%} would be too many). {step}"


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
