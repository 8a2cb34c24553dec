import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import named_params
from holdfast.lab.training import Shard, batched_sgd, constrained_sgd, projected_sgd, sgd

from .cases import NETWORKS, network, shards, small_mlp


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize(
    "sizes", [(10, 10, 10), (3, 17, 40, 1), (12,)], ids=["equal", "unequal, partial batches", "one client"]
)
def test_training_together_equals_training_one_after_the_other(name, momentum, sizes):
    make, shape = NETWORKS[name]
    model, params = network(make)
    examples = shards(shape, sizes)
    alone = sgd(model, params, examples, lr=0.1, momentum=momentum).updates
    together = batched_sgd(model, params, examples, lr=0.1, momentum=momentum)
    assert np.abs(alone).max() > 1e-3
    np.testing.assert_allclose(together, alone, atol=2e-6)


def test_a_client_trains_the_same_in_any_company():
    model, params = network(small_mlp)
    examples = shards((6,), (3, 17, 40))
    alone = batched_sgd(model, params, examples[:1], momentum=0.9)[0]
    np.testing.assert_allclose(batched_sgd(model, params, examples, momentum=0.9)[0], alone, atol=1e-6)


@pytest.mark.parametrize("train", [sgd, batched_sgd])
def test_params_shards_and_torchs_generator_are_left_alone(train):
    model, params = network(small_mlp)
    examples = shards((6,), (10, 7))
    before = params.copy(), examples[0].x.copy(), torch.get_rng_state()
    train(model, params, examples, momentum=0.9)
    np.testing.assert_array_equal(params, before[0])
    np.testing.assert_array_equal(examples[0].x, before[1])
    assert torch.equal(torch.get_rng_state(), before[2])


def test_nobody_ends_outside_the_ball():
    model, params = network(small_mlp)
    updates = projected_sgd(model, params, shards((6,), (5, 17, 40)), lr=1.0, momentum=0.9, radius=0.3)
    assert (np.linalg.norm(updates, axis=1) <= 0.3 + 1e-6).all()


def test_a_ball_that_nobody_leaves_changes_nothing():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    near = projected_sgd(model, params, examples, radius=100.0, every=1)
    np.testing.assert_allclose(near, batched_sgd(model, params, examples), atol=1e-6)


def test_projecting_at_the_last_step_only_is_shortening_the_update():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    free = batched_sgd(model, params, examples, lr=1.0)
    expected = 0.3 * free / np.linalg.norm(free, axis=1, keepdims=True)
    late = projected_sgd(model, params, examples, lr=1.0, radius=0.3, every=1000)
    np.testing.assert_allclose(late, expected, atol=1e-5)


def test_projecting_at_every_second_step_is_training_on_from_the_ball():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [20], epochs=1)
    first, second = (Shard(shard.x, shard.y, shard.batches[part]) for part in (slice(2), slice(2, 4)))
    there = projected_sgd(model, params, [first], lr=1.0, radius=0.3, every=1000)[0]
    on = there + batched_sgd(model, params + there, [second], lr=1.0)[0]
    expected = 0.3 * on / np.linalg.norm(on)
    got = projected_sgd(model, params, [shard], lr=1.0, radius=0.3, every=2)[0]
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"radius": 0.0}, {"radius": np.inf}, {"every": 0}, {"every": 1.5}])
def test_settings_of_the_ball_are_checked(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=next(iter(wrong))):
        projected_sgd(model, params, shards((6,), [5]), **wrong)


def by_the_formula(model, params, shard, a, lr):
    """Return the update of one client, from the loss as it is written in the paper."""
    start, flat = torch.from_numpy(params), torch.from_numpy(params).clone()
    for batch in shard.batches:
        flat = flat.detach().requires_grad_()
        x, y = torch.from_numpy(shard.x[batch[batch >= 0]]), torch.from_numpy(shard.y[batch[batch >= 0]])
        scores = torch.func.functional_call(model, named_params(model, flat), (x,))
        away = torch.linalg.vector_norm(flat - start)
        loss = a * torch.nn.functional.cross_entropy(scores, y) + (1 - a) * away
        (gradient,) = torch.autograd.grad(loss, flat)
        flat = flat - lr * gradient
    return (flat - start).detach().numpy()


def test_constrained_sgd_is_sgd_on_the_loss_of_the_paper():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    got = constrained_sgd(model, params, examples, a=0.7, lr=0.2)
    for row, shard in zip(got, examples, strict=True):
        np.testing.assert_allclose(row, by_the_formula(model, params, shard, 0.7, 0.2), atol=1e-5)


def test_all_weight_on_the_cross_entropy_is_plain_sgd():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    np.testing.assert_allclose(
        constrained_sgd(model, params, examples, a=1.0, momentum=0.9),
        batched_sgd(model, params, examples, momentum=0.9),
        atol=1e-6,
    )


def test_less_weight_on_it_stays_nearer_to_the_global_model():
    model, params = network(small_mlp)
    examples = shards((6,), [40])
    lengths = [np.linalg.norm(constrained_sgd(model, params, examples, a=a)) for a in (0.5, 0.8, 1.0)]
    assert lengths == sorted(lengths)


@pytest.mark.parametrize("wrong", [0.0, 1.1, np.nan])
def test_a_weight_outside_its_range_is_refused(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match="must be in"):
        constrained_sgd(model, params, shards((6,), [5]), a=wrong)
