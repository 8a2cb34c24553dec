"""What the app trains: two tasks, each with its data and its network, and the attacks of its drill."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from holdfast.errors import DataError
from holdfast.flower.drill import Drill, crash, fail, nan
from holdfast.lab.attacks import Backdoor, boost, distributed_pixels, sign_flip, value_trigger
from holdfast.lab.data import Dataset, phishing
from holdfast.lab.data.split import iid
from holdfast.lab.models import build_network, mlp, small_cnn
from holdfast.lab.scenario import Attack

CIFAR10 = "cifar10_subset_12k.npz"


@dataclass(frozen=True)
class Task:
    data: Callable[[], Dataset]
    model: Callable[[], nn.Module]
    epochs: int
    lr: float
    batch_size: int = 32

    def fresh_model(self) -> nn.Module:
        return build_network(self.model, seed=0)


def cifar10() -> Dataset:
    """Return CIFAR-10 from HOLDFAST_DATA: 1,000 images per class to train on, 200 to test on."""
    path = Path(os.environ.get("HOLDFAST_DATA", "")) / CIFAR10
    if not os.environ.get("HOLDFAST_DATA") or not path.is_file():
        raise DataError(f"task cifar10 reads {CIFAR10}: set HOLDFAST_DATA to the folder that holds it")
    with np.load(path, allow_pickle=False) as file:
        x_train, x_test = (
            file[name].transpose(0, 3, 1, 2) / np.float32(255) for name in ("x_train", "x_test")
        )
        mean, scale = x_train.mean(axis=(0, 2, 3)), x_train.std(axis=(0, 2, 3))
        shape = (1, 3, 1, 1)
        x_train, x_test = ((x - mean.reshape(shape)) / scale.reshape(shape) for x in (x_train, x_test))
        return Dataset(x_train, file["y_train"], x_test, file["y_test"], raw_mean=mean, raw_scale=scale)


TASKS = {
    "phishing": Task(partial(phishing, n_train=5_000, n_test=1_000), mlp, epochs=2, lr=0.05),
    "cifar10": Task(cifar10, partial(small_cnn, side=32, n_channels=3), epochs=1, lr=0.02),
}


def planted(data: Dataset) -> Backdoor:
    """Return the backdoor of the drill: a reputation score in a table, four white bars in an image."""
    return value_trigger(data) if data.x_train.ndim == 2 else distributed_pixels(data, height=2, gap=3)


RED_TEAM = Drill(
    {
        "backdoor": Attack("backdoor", backdoor=planted, crafts=(partial(boost, factor=5.0),)),
        "sign-flip": Attack("sign-flip", crafts=(partial(sign_flip, factor=3.0),)),
        "nan": Attack("nan", crafts=(nan,)),
        "fail": Attack("fail", crafts=(fail,)),
        "crash": Attack("crash", crafts=(crash,), rounds=range(3, 1_000_000)),  # well for two rounds
    }
)


@cache
def data_of(name: str) -> Dataset:
    return TASKS[name].data()


def shard(name: str, partition: int, n_partitions: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the examples of one node; all nodes deal them the same way."""
    data = data_of(name)
    own = iid(data.y_train, n_clients=n_partitions, rng=np.random.default_rng(0))[partition]
    return data.x_train[own], data.y_train[own]


def train(model: nn.Module, x: np.ndarray, y: np.ndarray, task: Task, *, seed: int) -> None:
    torch.set_num_threads(1)
    order = np.random.default_rng(seed)
    optimiser = torch.optim.SGD(model.parameters(), lr=task.lr, momentum=0.9)
    inputs, labels = torch.from_numpy(x), torch.from_numpy(y)
    for _ in range(task.epochs):
        for batch in np.array_split(order.permutation(len(y)), -(-len(y) // task.batch_size)):
            optimiser.zero_grad()
            functional.cross_entropy(model(inputs[batch]), labels[batch]).backward()
            optimiser.step()


def answers(model: nn.Module, x: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return model(torch.from_numpy(x)).argmax(dim=1).numpy()
