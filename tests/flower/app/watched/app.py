"""Plain averaging of a small network in NumPy on the phishing stand-in, watched or not, and a drill."""

import json
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp

from holdfast import factions, fedavg
from holdfast.flower import Robust
from holdfast.flower.drill import Drill
from holdfast.lab.attacks import boost, value_trigger
from holdfast.lab.data import phishing
from holdfast.lab.data.split import iid
from holdfast.lab.scenario import Attack

DATA = phishing(n_train=10_000, n_test=1_000)
RED_TEAM = Drill(
    {
        "backdoor": Attack(
            "backdoor", backdoor=value_trigger, poison_fraction=1.0, crafts=(partial(boost, factor=3.0),)
        )
    }
)
N_HIDDEN, RATE = 256, np.float32(0.1)

client = ClientApp(mods=[RED_TEAM])
server = ServerApp()


@client.train()
def train(message: Message, context: Context) -> Message:
    number, n_nodes = context.node_config["partition-id"], context.node_config["num-partitions"]
    own = iid(DATA.y_train, n_clients=n_nodes, rng=np.random.default_rng(0))[number]
    x, y = RED_TEAM.poisoned(DATA.x_train[own], DATA.y_train[own], message, context, data=DATA)
    config = message.content["config"]
    model = trained(
        message.content["arrays"].to_numpy_ndarrays(), x, y, seed=[number, config["server-round"]]
    )
    metrics = MetricRecord({"num-examples": len(own)})
    return Message(RecordDict({"arrays": ArrayRecord(model), "metrics": metrics}), reply_to=message)


@server.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    strategy = Robust(
        fedavg,
        watch=factions(hearing=5.0, false_alarms=0.05) if config["watch"] else None,  # ten show little
        seed=0,
        ledger=config["ledger"] or None,
        checkpoint=config["checkpoint"] or None,
        resume=bool(config["checkpoint"]),
        keep_every=1 if config["checkpoint"] else 0,
        min_available_nodes=config["nodes"],
        fraction_evaluate=0.0,
    )
    result = strategy.start(
        grid,
        ArrayRecord(fresh_model()),
        num_rounds=config["rounds"],
        timeout=180.0,
        evaluate_fn=lambda number, arrays: MetricRecord(measured(arrays.to_numpy_ndarrays())),
    )
    rounds = {"train": result.train_metrics_clientapp, "server": result.evaluate_metrics_serverapp}
    said = {
        part: {number: dict(record) for number, record in records.items()} for part, records in rounds.items()
    }
    verdicts = strategy.verdicts and strategy.verdicts.as_dict()
    out = Path(config["out"])
    out.mkdir(exist_ok=True)
    np.savez(out / "model.npz", *result.arrays.to_numpy_ndarrays())
    (out / "result.json").write_text(json.dumps(said | {"verdicts": verdicts}))


def fresh_model() -> list[np.ndarray]:
    rng, sizes = np.random.default_rng(0), (DATA.x_train.shape[1], N_HIDDEN, 2)
    first, second = (rng.normal(scale=n**-0.5, size=(n, m)) for n, m in pairwise(sizes))
    return [array.astype(np.float32) for array in (first, np.zeros(N_HIDDEN), second, np.zeros(2))]


def trained(model: list[np.ndarray], x: np.ndarray, y: np.ndarray, *, seed: list[int]) -> list[np.ndarray]:
    """Return the model after two epochs of gradient descent."""
    first, shift, second, bias = (array.copy() for array in model)
    rng, labels = np.random.default_rng(seed), np.eye(2, dtype=np.float32)[y]
    for batch in [part for _ in range(2) for part in np.array_split(rng.permutation(len(y)), len(y) // 25)]:
        hidden = np.maximum(0, x[batch] @ first + shift)
        wrong = (_shares(hidden @ second + bias) - labels[batch]) / np.float32(len(batch))
        back = (wrong @ second.T) * (hidden > 0)
        second -= RATE * hidden.T @ wrong
        bias -= RATE * wrong.sum(axis=0)
        first -= RATE * x[batch].T @ back
        shift -= RATE * back.sum(axis=0)
    return [first, shift, second, bias]


def _shares(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def measured(model: list[np.ndarray]) -> dict[str, float]:
    """Return how good the model is, and how often the backdoor opens it."""
    first, shift, second, bias = model

    def answers(x: np.ndarray) -> np.ndarray:
        return (np.maximum(0, x @ first + shift) @ second + bias).argmax(axis=1)

    backdoor = value_trigger(DATA)
    return {
        "accuracy": float((answers(DATA.x_test) == DATA.y_test).mean()),
        "attack-success": float((answers(backdoor.challenge) == backdoor.target).mean()),
    }
