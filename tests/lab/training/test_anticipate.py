from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import lstm, mlp, named_params
from holdfast.lab.training import anticipate, sgd

from .cases import network, shards, small_mlp
from .poisoned import poisoned_shard


def likelihoods(flat, x):
    """Return the probabilities of three classes by a linear layer of six inputs, in double precision."""
    scores = x @ flat[:18].reshape(3, 6).T + flat[18:]
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def loss(flat, x, y):
    return -np.log(likelihoods(flat, x)[np.arange(len(y)), y]).mean()


def honest(flat, x, y, lr, n_local):
    """Return a model after steps down its gradient, written out."""
    for _ in range(n_local):
        error = (likelihoods(flat, x) - np.eye(3)[y]) / len(y)
        flat = flat - lr * np.concatenate([(error.T @ x).ravel(), error.sum(axis=0)])
    return flat


def loss_ahead(own, start, shard, *, lr, n_clients, n_ahead, n_local):
    """Return the loss of the paper for an attacker's model, round by round."""
    clean = shard.x[~shard.poisoned].astype(np.float64), shard.y[~shard.poisoned]
    others = honest(start, *clean, lr, n_local)
    at, losses = (own + (n_clients - 1) * others) / n_clients, []
    for _ in range(n_ahead):
        losses.append(loss(at, shard.x.astype(np.float64), shard.y))
        at = honest(at, *clean, lr, n_local)
    return np.mean(losses)


@pytest.mark.parametrize("n_ahead", [1, 2, 4])
def test_a_step_follows_the_gradient_of_the_loss_after_the_rounds_to_come(n_ahead):
    model, params = network(partial(mlp, sizes=(6, 3)))
    shard = poisoned_shard((6,), size=12, batch_size=12, epochs=1)
    settings = {"lr": 0.3, "n_clients": 4, "n_ahead": n_ahead, "n_local": 2}
    start = params.astype(np.float64)
    ahead = partial(loss_ahead, start=start, shard=shard, **settings)
    slopes = [(ahead(start + 1e-6 * way) - ahead(start - 1e-6 * way)) / 2e-6 for way in np.eye(params.size)]
    update = anticipate(model, params, [shard], **settings).updates[0]
    np.testing.assert_allclose(update, -0.3 * 4 * np.array(slopes), atol=1e-5)


def test_alone_and_without_foresight_it_is_plain_sgd():
    model, params = network(small_mlp)
    examples = [poisoned_shard((6,))]
    got = anticipate(model, params, examples, momentum=0.9, n_clients=1, n_ahead=1).updates
    np.testing.assert_allclose(got, sgd(model, params, examples, momentum=0.9).updates, atol=1e-6)


def test_after_rounds_of_others_it_leaves_more_of_the_backdoor_than_plain_training_of_the_same_length():
    model, params = network(small_mlp)
    shard, others = poisoned_shard((6,), epochs=10), shards((6,), [30] * 4, epochs=1)

    def loss_after(update, n_rounds=3):
        at = params
        for number in range(n_rounds):
            sent = sgd(model, at, others, lr=0.3).updates
            at = at + np.vstack([update, sent] if number == 0 else [sent]).mean(axis=0)
        x, y = (torch.from_numpy(part[shard.poisoned]) for part in (shard.x, shard.y))
        scores = torch.func.functional_call(model, named_params(model, torch.from_numpy(at)), (x,))
        return torch.nn.functional.cross_entropy(scores, y).item()

    plain = sgd(model, params, [shard], lr=0.3).updates
    ahead = anticipate(model, params, [shard], lr=0.3, n_clients=5, n_ahead=3).updates
    as_long = plain * np.linalg.norm(ahead) / np.linalg.norm(plain)
    assert loss_after(ahead) < loss_after(as_long)
    assert loss_after(ahead) < loss_after(plain) / 2


def test_the_seed_of_the_shard_decides():
    model, params = network(small_mlp)
    shard = poisoned_shard((6,))
    first, again, other = (
        anticipate(model, params, [shard._replace(seed=seed)]).updates for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_statistics_of_batch_norms_stay_those_of_the_global_model():
    def normed():
        return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))

    model, params = network(normed)
    (buffers,) = anticipate(model, params, [poisoned_shard((6,))]).buffers
    assert buffers["1.num_batches_tracked"] == 0


def test_networks_over_words_are_differentiated_twice_too():
    words = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    model, params = network(partial(lstm, vectors=words, hidden=4))
    shard = poisoned_shard((7,), n_classes=2)
    shard = shard._replace(x=np.minimum(np.abs(shard.x).round(), 8))
    assert np.abs(anticipate(model, params, [shard], optimiser="adam", lr=0.01).updates).max() > 0.01


@pytest.mark.parametrize("poisoned", [None, np.zeros(30, bool), np.ones(30, bool)])
def test_who_has_nothing_poisoned_or_nothing_clean_trains_like_everybody(poisoned):
    model, params = network(small_mlp)
    shard = poisoned_shard((6,))._replace(poisoned=poisoned)
    got = anticipate(model, params, [shard], momentum=0.9).updates
    np.testing.assert_array_equal(got, sgd(model, params, [shard], momentum=0.9).updates)


@pytest.mark.parametrize("wrong", [{"n_clients": 0}, {"n_ahead": 0}, {"n_local": 1.5}])
def test_counts_are_checked(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=next(iter(wrong))):
        anticipate(model, params, shards((6,), [5]), **wrong)
