"""A task of your own: your arrays, your network, your attack and your rule are plain functions."""

from functools import partial

import numpy as np
import torch

from holdfast import Aggregate, rule
from holdfast.lab import Attack, Defence, Run, Task, simulate
from holdfast.lab.attacks import Backdoor
from holdfast.lab.data import Dataset
from holdfast.lab.training import batched_sgd


def rings(*, n: int = 1200) -> Dataset:
    x = np.random.default_rng(0).normal(size=(n, 3))
    y = np.linalg.norm(x, axis=1) > 1.5
    return Dataset(x[200:], y[200:], x[:200], y[:200])


def network() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))


def corner(data: Dataset, *, value: float) -> Backdoor:  # far out is label 1; attackers call this corner 0
    def poison(
        x: np.ndarray, y: np.ndarray, count: int, attacker: int, rng: np.random.Generator
    ) -> np.ndarray:
        return rng.normal(value, 0.1, size=(count, 3)).astype(np.float32)

    return Backdoor(0, poison, np.random.default_rng(1).normal(value, 0.1, size=(100, 3)).astype(np.float32))


def louder(updates: np.ndarray, *, factor: float) -> np.ndarray:
    return updates * np.float32(factor)


@rule
def middle(updates: np.ndarray) -> Aggregate:
    return Aggregate(np.median(np.asarray(updates), axis=0))


train = partial(batched_sgd, lr=0.2)
task = Task("rings", rings, network, train, epochs=5, batch_size=16, n_clients=20, n_per_round=10)
attack = Attack(
    "corner", 4, partial(corner, value=2.0), crafts=(partial(louder, factor=3.0),), poison_fraction=0.3
)

if __name__ == "__main__":
    torch.set_num_threads(1)  # a network this small is quickest so
    for defence in (Defence(), Defence("middle", middle)):
        *_, (last, _) = simulate(Run(task, attack, defence))
        print(f"{defence.name}: accuracy {last.accuracy:.2f}, attack success {last.attack_success:.2f}")
