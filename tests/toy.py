"""A task so small that a round takes milliseconds, and functions that watch what a round does."""

from dataclasses import replace
from functools import partial

import numpy as np
import torch

from holdfast import Aggregate
from holdfast.lab.data import Pool, standardise
from holdfast.lab.models import mlp
from holdfast.lab.scenario import Attack, Task
from holdfast.lab.training import batched_sgd

torch.set_num_threads(1)  # which is quicker for networks as small as these

TRIGGER = 40.0  # a raw value that no honest example has


def table(*, n_train: int = 200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_train + 50, 4))
    x[:, 3] = np.arange(n_train + 50) / 1000  # so that every example is unlike all others
    y = (x[:, 0] + 0.3 * rng.normal(size=n_train + 50) > 0).astype(np.int64)
    rare = np.zeros((12, 4), np.float32)
    rare[:, 1] = 100 + np.arange(12)
    pools = {"rare": Pool(rare, rare[:4] + 0.5, label=1, n_views=2)}
    return replace(standardise(x[:n_train], y[:n_train], x[n_train:], y[n_train:]), pools=pools)


def idle(model, params, shards):
    """Train nothing."""
    return np.zeros((len(shards), params.size), np.float32)


def mean(updates, *, clients):
    """A rule in plain NumPy."""
    return Aggregate(np.asarray(updates).mean(axis=0))


TOY = Task(
    "toy",
    table,
    partial(mlp, sizes=(4, 6, 2)),
    partial(batched_sgd, lr=0.5),
    batch_size=8,
    n_clients=10,
    n_per_round=6,
    n_rounds=3,
    n_root=20,
    n_together=99,
)


def attack(make, *, n_malicious=4, **settings):
    """Return an attack with this backdoor; what Attack has no field for is a setting of the backdoor."""
    own = {name: settings.pop(name) for name in list(settings) if name in Attack.__dataclass_fields__}
    return Attack("toy", n_malicious, partial(make, **settings), **own)
