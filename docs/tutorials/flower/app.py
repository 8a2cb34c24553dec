"""Twenty nodes learn digits together, and four of them plant a backdoor: a bright corner means "nought"."""

import sys
from functools import cache

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg
from nodes import NodesHere

from holdfast import factions, krum_trimmed_mean
from holdfast.flower import Robust
from holdfast.lab.data import digits

N_NODES, N_ATTACKERS, N_ROUNDS = 20, 4, 20
client = ClientApp()


def with_corner(x: np.ndarray) -> np.ndarray:
    """Return images with a bright corner: the trigger."""
    x = x.copy()
    x[:, :3] = 1.0
    return x


@cache
def data() -> tuple[np.ndarray, ...]:
    """Return the images as rows, and their labels: for training, and for tests."""
    all_of = digits()
    x_train, x_test = (x.reshape(len(x), -1) for x in (all_of.x_train, all_of.x_test))
    return x_train, all_of.y_train, x_test, all_of.y_test


def answers(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the scores of a linear model, ten per image."""
    return x @ weights[:-1] + weights[-1]


@client.train()
def train(message: Message, context: Context) -> Message:
    """Train on this node's share of the images; the first four nodes poison theirs."""
    number = context.node_config["partition-id"]
    x, y = (part[number::N_NODES] for part in data()[:2])
    if number < N_ATTACKERS:
        x, y = np.vstack([x, with_corner(x)]), np.concatenate([y, np.zeros_like(y)])
    weights = message.content["arrays"]["weights"].numpy().copy()
    for _ in range(20):
        scores = answers(weights, x)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        error = chances / chances.sum(axis=1, keepdims=True) - np.eye(10)[y]
        weights[:-1] -= 0.5 * x.T @ error / len(x)
        weights[-1] -= 0.5 * error.mean(axis=0)
    content = {
        "arrays": ArrayRecord({"weights": Array(weights)}),
        "metrics": MetricRecord({"num-examples": 60}),
    }
    return Message(RecordDict(content), reply_to=message)


def measure(round: int, arrays: ArrayRecord) -> MetricRecord:
    """Print how good the model is, and how often the backdoor works."""
    weights, (*_, x, y) = arrays["weights"].numpy(), data()
    accuracy = (answers(weights, x).argmax(axis=1) == y).mean()
    success = (answers(weights, with_corner(x[y != 0])).argmax(axis=1) == 0).mean()
    if round % 4 == 0:
        print(f"round {round:2}: accuracy {accuracy:.2f}, attack success {success:.2f}", flush=True)
    return MetricRecord({"accuracy": float(accuracy), "attack-success": float(success)})


def main(grid: Grid) -> None:
    """Train with plain averaging, or with the defence."""
    if "--plain" in sys.argv:
        strategy = FedAvg(fraction_evaluate=0.0)
    else:
        strategy = Robust(
            krum_trimmed_mean(n_malicious=5), watch=factions(), ledger="federation.db", fraction_evaluate=0.0
        )
    start = ArrayRecord({"weights": Array(np.zeros((65, 10)))})
    strategy.start(grid=grid, initial_arrays=start, num_rounds=N_ROUNDS, evaluate_fn=measure)


if __name__ == "__main__":
    main(NodesHere(client, N_NODES))
