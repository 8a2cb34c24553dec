"""FL-WBC: noise where the gradient stands still, and nowhere else."""

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.training import adam, fl_wbc, sgd

from .cases import network, shards, small_mlp


def gradient(model, params, shard, batch):
    """Return the flat gradient of one batch at the params."""
    torch.nn.utils.vector_to_parameters(torch.from_numpy(params.copy()), model.parameters())
    own = batch[batch >= 0]
    loss = torch.nn.functional.cross_entropy(
        model(torch.from_numpy(shard.x[own])), torch.from_numpy(shard.y[own])
    )
    return torch.cat([g.ravel() for g in torch.autograd.grad(loss, list(model.parameters()))]).numpy()


def test_without_strength_it_is_plain_training():
    model, params = network(small_mlp)
    examples = shards((6,), [9, 14])
    known = {"lr": 0.2, "momentum": 0.9}
    np.testing.assert_array_equal(
        fl_wbc(model, params, examples, strength=0.0, **known).updates,
        sgd(model, params, examples, **known).updates,
    )
    np.testing.assert_array_equal(
        fl_wbc(model, params, examples, strength=0.0, lr=0.01, optimiser="adam").updates,
        adam(model, params, examples, lr=0.01).updates,
    )


def test_the_first_step_is_not_perturbed():
    model, params = network(small_mlp)
    examples = shards((6,), [5], epochs=1)
    np.testing.assert_array_equal(
        fl_wbc(model, params, examples).updates, sgd(model, params, examples).updates
    )


def test_noise_comes_where_the_gradient_changed_by_no_more():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [10], epochs=1)
    lr, strength = 0.5, 0.05
    plain = sgd(model, params, [shard], lr=lr).updates[0]
    added = (fl_wbc(model, params, [shard], lr=lr, strength=strength).updates[0] - plain) / lr
    first = gradient(model, params, shard, shard.batches[0])
    second = gradient(model, params - lr * first, shard, shard.batches[1])
    change = np.abs(second - first)
    noisy = added != 0
    assert (np.abs(added)[noisy] >= change[noisy] - 1e-5).all()
    assert noisy[change == 0].all()  # of neurons that are off
    assert not noisy[change > 20 * strength].any()
    assert 0 < noisy.sum() < noisy.size


def test_the_noise_is_laplacian_and_a_clients_own():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [10], epochs=1)
    flat = shard._replace(x=np.zeros_like(shard.x), batches=np.array([[0], [0]]))  # only biases have a slope
    drawn = []
    for seed in range(60):
        own = flat._replace(seed=seed)
        drawn.append(
            (fl_wbc(model, params, [own], strength=3.0).updates - sgd(model, params, [own]).updates)[0, :48]
        )
    sizes = np.abs(np.concatenate(drawn)) / 0.1
    assert sizes.mean() == pytest.approx(
        3.0, rel=0.1
    )  # of a Laplace distribution, the mean size is its scale
    assert np.square(sizes).mean() == pytest.approx(2 * 3.0**2, rel=0.25)
    assert (drawn[0] != drawn[1]).all()


def test_a_bad_strength_says_what_was_needed():
    model, params = network(small_mlp)
    with pytest.raises(InputError, match="strength must be a finite number of at least 0; got -1"):
        fl_wbc(model, params, shards((6,), [5]), strength=-1.0)
