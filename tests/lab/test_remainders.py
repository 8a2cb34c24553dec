"""Every network trains whatever number of examples a client has: also on one more than its batches hold."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from holdfast import fltrust
from holdfast.lab.data import Dataset
from holdfast.lab.models import (
    build_network,
    cifar_cnn,
    flat_params,
    lstm,
    mlp,
    resnet18,
    small_cnn,
)
from holdfast.lab.scenario import Defence, Run, Task
from holdfast.lab.simulation import simulate
from holdfast.lab.simulation.world import build_world
from holdfast.lab.training import lean_sgd, mixed_sgd, sgd
from holdfast.lab.training.schedule import Shard, schedule

WORDS = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
NETWORKS = {
    "mlp": (partial(mlp, sizes=(6, 4, 2)), (6,), 1),
    "small_cnn": (small_cnn, (1, 8, 8), 1),
    "cifar_cnn": (partial(cifar_cnn, widths=(2, 2, 2)), (3, 32, 32), 1),
    "lstm": (partial(lstm, hidden=3), (4,), 1),
    "resnet18": (partial(resnet18, head=2, width=2), (3, 32, 32), 2),  # one pixel is left at the end
    "resnet18-cifar": (partial(resnet18, head=2, width=2, stem="cifar"), (3, 32, 32), 1),
    "resnet18-group": (partial(resnet18, head=2, width=2, stem="cifar", norm="group"), (3, 32, 32), 1),
}


def examples(*, shape, is_text):
    rng = np.random.default_rng(1)
    x = rng.integers(1, 9, size=(30, *shape)) if is_text else rng.normal(size=(30, *shape))
    x = x.astype(np.int64 if is_text else np.float32)
    y = rng.integers(0, 2, size=30)
    return Dataset(x[:20], y[:20], x[20:], y[20:], vectors=WORDS if is_text else None)


def by_remainder(labels, *, n_clients):
    """Give the clients 1, 2, 3, ... examples."""
    ends = np.cumsum(np.arange(1, n_clients))
    return np.split(np.arange(n_clients * (n_clients + 1) // 2), ends)


def run(name, train=sgd, *, batch_size=2):
    model, shape, _ = NETWORKS[name]
    data = partial(examples, shape=shape, is_text=name == "lstm")
    sizes = {"n_clients": 5, "n_per_round": 5, "n_rounds": 1, "n_root": 5}
    return Run(Task("remainders", data, model, train, by_remainder, batch_size=batch_size, **sizes))


@pytest.mark.parametrize("train", [sgd, lean_sgd, mixed_sgd])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_trains_on_every_remainder(name, train):
    ((record, state),) = simulate(run(name, train))
    assert record.n_attackers == 0
    assert not record.diagnostics.dropped
    assert np.isfinite(state.params).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_only_a_network_that_refuses_a_single_example_has_its_batches_joined(name):
    world = build_world(run(name), "cpu")
    before = {key: value.clone() for key, value in world.model.state_dict().items()}
    smallest = NETWORKS[name][2]
    assert world.smallest_batch == smallest
    shard = world.shard(2, world.honest_examples(2, 1), 1)  # three examples, in batches of two
    assert (shard.batches >= 0).sum(axis=1).tolist() == ([3] if smallest == 2 else [2, 1])
    assert all((value == before[key]).all() for key, value in world.model.state_dict().items())


@pytest.mark.parametrize(("batch_size", "smallest"), [(1, 2), (2, 2), (5, 5), (8, 8), (64, 8)])
def test_where_batches_are_normalised_by_one_number_each_the_last_has_eight_examples(batch_size, smallest):
    assert build_world(run("resnet18", batch_size=batch_size), "cpu").smallest_batch == smallest


def test_a_small_last_batch_makes_no_update_much_longer():
    """To BatchNorm two numbers are always the same two, and the gradient of that is huge."""
    network = build_network(partial(resnet18, head=2, width=8), seed=0)

    def length(n_examples, *, smallest):
        rng = np.random.default_rng(0)
        batches = schedule(n_examples, epochs=1, batch_size=16, rng=rng, smallest=smallest)
        x = rng.normal(size=(n_examples, 3, 32, 32)).astype(np.float32)
        shard = Shard(x, rng.integers(0, 2, size=n_examples), batches)
        return np.linalg.norm(sgd(network, flat_params(network), [shard], lr=0.01).updates)

    usual = length(32, smallest=8)
    assert length(34, smallest=2) > 20 * usual
    assert all(length(32 + rest, smallest=8) < 2 * usual for rest in range(1, 9))


def test_the_server_takes_as_many_steps_as_the_median_client():
    steps = []

    def counting(model, params, shards):
        steps.extend(len(shard.batches) for shard in shards)
        return np.ones((len(shards), params.size), np.float32)

    plain = run("resnet18")
    list(simulate(replace(plain.replace(train=counting), defence=Defence("fltrust", fltrust))))
    assert sorted(steps[:5]) == [1, 1, 1, 2, 2]
    assert steps[5:] == [1]
