import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import named_params
from holdfast.lab.training import batched_sgd, constrained_sgd

from .cases import network, shards, small_mlp


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


def test_it_is_sgd_on_the_loss_of_the_paper():
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
def test_a_weight_that_is_none_is_refused(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match="must be in"):
        constrained_sgd(model, params, shards((6,), [5]), a=wrong)
