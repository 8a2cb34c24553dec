import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import build_network, flat_params
from holdfast.lab.training import adam, batched_sgd, lean_sgd, sgd

from .cases import network, shards, small_mlp


def test_one_step_is_the_gradient_times_the_learning_rate():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [5], epochs=1)
    update = sgd(model, params, [shard], lr=0.5).updates[0]
    loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(shard.x)), torch.from_numpy(shard.y))
    gradient = torch.cat([g.ravel() for g in torch.autograd.grad(loss, list(model.parameters()))]).numpy()
    np.testing.assert_allclose(update, -0.5 * gradient, atol=1e-6)


def test_every_client_starts_from_the_same_params_with_a_fresh_momentum():
    model, params = network(small_mlp)
    one, two = shards((6,), [9, 9])
    together = sgd(model, params, [one, two], momentum=0.9).updates
    np.testing.assert_array_equal(together[1], sgd(model, params, [two], momentum=0.9).updates[0])


def test_the_network_is_left_with_the_params_it_was_given():
    model, params = network(small_mlp)
    sgd(model, params, shards((6,), [9]))
    after = torch.cat([p.detach().ravel() for p in model.parameters()]).numpy()
    np.testing.assert_array_equal(after, params)


def test_adam_is_torchs_with_a_fresh_state_for_each_client():
    model, params = network(small_mlp)
    examples = shards((6,), (9, 14))
    updates = adam(model, params, examples, lr=0.01).updates
    for update, shard in zip(updates, examples, strict=True):
        own = build_network(small_mlp, seed=0)
        steps = torch.optim.Adam(own.parameters(), lr=0.01)
        for batch in shard.batches:
            x, y = torch.from_numpy(shard.x[batch[batch >= 0]]), torch.from_numpy(shard.y[batch[batch >= 0]])
            steps.zero_grad()
            torch.nn.functional.cross_entropy(own(x), y).backward()
            steps.step()
        np.testing.assert_allclose(update, flat_params(own) - params, atol=1e-7)


def test_one_step_of_adam_moves_every_weight_with_a_gradient_by_the_rate():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [30], epochs=0.01, batch_size=30)
    moved = np.abs(adam(model, params, [shard], lr=0.5).updates)
    np.testing.assert_allclose(moved[moved > 0], 0.5, rtol=1e-3)


@pytest.mark.parametrize("train", [sgd, adam, batched_sgd, lean_sgd], ids=lambda train: train.__name__)
@pytest.mark.parametrize("lr", [-0.1, np.inf, np.nan, "fast"])
def test_a_pace_at_which_nothing_is_learned_is_refused(train, lr):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match="the learning rate, must be a finite number of at least 0"):
        train(model, params, shards((6,), [9]), lr=lr)
