from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import build_network, flat_params, named_params
from holdfast.lab.training import cerberus, sgd, soda

from .cases import network, shards, small_mlp


def half_poisoned(sizes, **settings):
    """Return shards of which every other example is poisoned."""
    return [
        shard._replace(poisoned=np.arange(len(shard.y)) % 2 == 1) for shard in shards((6,), sizes, **settings)
    ]


def benign(model, params, shard, lr):
    """Return the params that honest steps on the clean examples of each batch lead to."""
    rows = [[i for i in batch if i >= 0 and not shard.poisoned[i]] for batch in shard.batches]
    width = max(map(len, rows))
    batches = np.array([row + [-1] * (width - len(row)) for row in rows if row])
    return params + sgd(model, params, [shard._replace(batches=batches)], lr=lr).updates[0]


def by_the_formula(model, params, shard, lr, distance, direction):
    """Return the update of one client, from the loss as it is written in the paper."""
    b = torch.from_numpy(benign(model, params, shard, lr))
    flat = torch.from_numpy(params).clone()
    for batch in shard.batches:
        flat = flat.detach().requires_grad_()
        at = batch[batch >= 0]
        scores = torch.func.functional_call(
            model, named_params(model, flat), (torch.from_numpy(shard.x[at]),)
        )
        cosine = flat @ b / (flat.norm() * b.norm())
        loss = torch.nn.functional.cross_entropy(scores, torch.from_numpy(shard.y[at]))
        loss = loss + distance * (flat - b).norm() + direction * (1 - cosine)
        (gradient,) = torch.autograd.grad(loss, flat)
        flat = flat - lr * gradient
    return (flat - torch.from_numpy(params)).detach().numpy()


@pytest.mark.parametrize("weights", [(0.1, 100.0), (0.5, 0.0), (0.0, 3.0)])
def test_it_is_sgd_on_the_loss_of_the_paper(weights):
    model, params = network(small_mlp)
    distance, direction = weights
    examples = half_poisoned((5, 17))
    got = soda(model, params, examples, lr=0.05, distance=distance, direction=direction).updates
    for row, shard in zip(got, examples, strict=True):
        np.testing.assert_allclose(row, by_the_formula(model, params, shard, 0.05, *weights), atol=1e-5)


@pytest.mark.parametrize(("weight", "most"), [("distance", 1.0), ("direction", 10.0)])
def test_more_weight_stays_nearer_to_the_honest_update(weight, most):
    model, params = network(small_mlp)
    (shard,) = half_poisoned([40], epochs=10)
    honest = benign(model, params, shard, 0.02)
    other = {"distance": 0.0, "direction": 0.0}
    train = partial(soda, model, params, [shard], lr=0.02)
    strays = [
        np.linalg.norm(params + train(**{**other, weight: value}).updates[0] - honest)
        for value in (0.0, most / 5, most)
    ]
    assert strays[2] < strays[1] < strays[0]


def test_without_weights_it_is_plain_training():
    model, params = network(small_mlp)
    examples = half_poisoned((5, 17))
    free = soda(model, params, examples, lr=0.05, momentum=0.9, distance=0.0, direction=0.0)
    np.testing.assert_allclose(
        free.updates, sgd(model, params, examples, lr=0.05, momentum=0.9).updates, atol=1e-6
    )


@pytest.mark.parametrize("poisoned", [None, np.zeros(17, bool)], ids=["none", "all clean"])
def test_a_client_without_poison_is_honest(poisoned):
    model, params = network(small_mlp)
    (shard,) = shards((6,), [17])
    got = soda(model, params, [shard._replace(poisoned=poisoned)], lr=0.05, distance=5.0).updates
    np.testing.assert_array_equal(got, sgd(model, params, [shard], lr=0.05).updates)


def test_cerberus_minds_the_distance_alone():
    model, params = network(small_mlp)
    examples = half_poisoned((5, 17))
    same = soda(model, params, examples, distance=0.3, direction=0.0).updates
    np.testing.assert_array_equal(cerberus(model, params, examples, distance=0.3).updates, same)


def test_an_attacker_with_nothing_but_poison_stays_near_the_global_model():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [10], epochs=10)
    shard = shard._replace(poisoned=np.ones(10, bool))
    free, bound = (soda(model, params, [shard], lr=0.02, distance=d, direction=0.0).updates for d in (0, 5))
    assert np.linalg.norm(bound) < 0.5 * np.linalg.norm(free)


def test_a_network_with_buffers_trains_from_where_all_start():
    def normed():
        return torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 3))

    model = build_network(normed, seed=0)
    examples = half_poisoned([12], batch_size=6)
    first, again = (soda(model, flat_params(model), examples, lr=0.05) for _ in range(2))
    np.testing.assert_array_equal(first.updates, again.updates)
    n_seen = int(first.buffers[0]["1.num_batches_tracked"])
    assert n_seen == len(examples[0].batches)  # the honest steps have left no trace


@pytest.mark.parametrize("wrong", [{"distance": -1.0}, {"direction": np.inf}])
def test_settings_outside_their_range_are_refused(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match="distance and direction, weights, must be finite numbers"):
        soda(model, params, half_poisoned([5]), **wrong)


@pytest.mark.parametrize("train", [soda, cerberus])
@pytest.mark.parametrize(
    ("clean", "expected"),
    [
        ((4, 4, 4, 4, 1), [8, 9]),
        ((9, 1, 9, 0, 9), [9, 10, 9]),
        ((1, 9, 0, 0, 0), [10]),
        ((1, 0, 0, 0, 0), [2]),
        ((0, 0, 0, 0, 0), []),
    ],
)
def test_what_is_left_of_a_batch_is_never_too_small_for_a_batch_norm(train, clean, expected):
    class Counting(torch.nn.BatchNorm1d):
        def forward(self, x):
            if self.training:
                seen.append(len(x))
            return super().forward(x)

    def normed():
        return torch.nn.Sequential(torch.nn.Linear(6, 8), Counting(8), torch.nn.Linear(8, 3))

    model, params = network(normed)
    batches = np.arange(50).reshape(5, 10)
    poisoned = np.concatenate([np.arange(10) >= n for n in clean])
    (shard,) = shards((6,), [50])
    seen = []
    update = train(model, params, [shard._replace(batches=batches, poisoned=poisoned)]).updates
    honest = [n for n in seen if n != 1][: len(expected)]  # 1: whether it trains on one
    assert honest == expected
    assert seen[-5:] == [10] * 5
    assert np.isfinite(update).all()
