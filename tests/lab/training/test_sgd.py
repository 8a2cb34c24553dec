import numpy as np
import torch

from holdfast.lab.training import sgd

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
