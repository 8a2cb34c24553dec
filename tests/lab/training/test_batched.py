import numpy as np
import pytest
import torch

from holdfast.lab.training import batched_sgd, sgd

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
