"""Networks and shards that the tests of all ways to train share."""

import numpy as np
import torch

from holdfast.lab.models import build_network, flat_params, mlp, small_cnn
from holdfast.lab.training import Shard, schedule

torch.set_num_threads(1)  # which is quicker for networks as small as these


def small_mlp():
    return mlp(sizes=(6, 8, 3))


def network(make):
    model = build_network(make, seed=0)
    return model, flat_params(model)


def shards(shape, sizes, *, epochs=2.0, batch_size=5, n_classes=3):
    rng = np.random.default_rng(1)
    return [
        Shard(
            rng.normal(size=(size, *shape)).astype(np.float32),
            rng.integers(0, n_classes, size=size),
            schedule(size, epochs=epochs, batch_size=batch_size, rng=rng),
        )
        for size in sizes
    ]


NETWORKS = {"mlp": (small_mlp, (6,)), "cnn": (small_cnn, (1, 8, 8))}
