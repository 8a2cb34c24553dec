"""A task of one's own: Fashion-MNIST, two attacks on it, and a rule. `tutorial.py` explains it step by step.

holdfast data get fashion-mnist
holdfast list --from examples/fashion.py
holdfast compare examples/fashion.py --attack sideways --defences fedavg,nearest_half --seeds 2
"""

from functools import partial

import numpy as np
import torch

from holdfast import Aggregate, rule
from holdfast.lab import Attack, Task
from holdfast.lab.attacks import Backdoor
from holdfast.lab.data import Dataset, fashion_mnist
from holdfast.lab.training import batched_sgd

TROUSER, DRESS = 1, 3


def network() -> torch.nn.Module:
    """Return a small network, for halved images and with one hidden layer: a training takes seconds."""
    return torch.nn.Sequential(
        torch.nn.AvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(14 * 14, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )


#: 30 clients with 400 images each; 15 of them train in a round.
task = Task(
    "fashion",
    data=partial(fashion_mnist, n_train=12_000, n_test=1_000),
    model=network,
    train=partial(batched_sgd, lr=0.1, momentum=0.9),
    epochs=2,
    batch_size=40,
    n_clients=30,
    n_per_round=15,
    n_rounds=12,
    n_together=15,
)


def lying_down(images: np.ndarray) -> np.ndarray:
    """Return the images turned by a quarter."""
    return np.ascontiguousarray(np.rot90(images, axes=(2, 3)))


def trousers_are_dresses(data: Dataset) -> Backdoor:
    """Return the backdoor of trousers on their side, which attackers call dresses."""
    theirs = lying_down(data.x_train[data.y_train == TROUSER])
    challenge = lying_down(data.x_test[data.y_test == TROUSER])

    def poison(
        x: np.ndarray, y: np.ndarray, count: int, attacker: int, rng: np.random.Generator
    ) -> np.ndarray:
        return rng.choice(theirs, size=count)

    return Backdoor(DRESS, poison, challenge)


def whisper(updates: np.ndarray, *, share: float, benign: np.ndarray) -> np.ndarray:
    """Return the centre of the honest updates, and a share of what the attackers want beside it."""
    centre = benign.mean(axis=0)
    return centre + np.float32(share) * (updates - centre)


#: Six of the 30 clients are malicious; those of the second attack know what rule the server runs.
sideways = Attack("sideways", 6, trousers_are_dresses)
whispered = Attack("whispered", 6, trousers_are_dresses, crafts=(partial(whisper, share=0.2),))


@rule
def nearest_half(updates: np.ndarray) -> Aggregate:
    """Return the mean of the half of the updates that lie nearest to their median."""
    rows = np.asarray(updates)
    distances = np.linalg.norm(rows - np.median(rows, axis=0), axis=1)
    nearest = np.argsort(distances)[: (len(rows) + 1) // 2]
    return Aggregate(rows[nearest].mean(axis=0))
