from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import lstm, named_params
from holdfast.lab.training import adam, cosine_constrained, sgd

from .cases import network, shards, small_mlp


def cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


def by_the_formula(model, params, shard, a, lr):
    """Return the update of one client, from the loss as it is written in the paper."""
    start, flat = torch.from_numpy(params), torch.from_numpy(params).clone()
    for batch in shard.batches:
        flat = flat.detach().requires_grad_()
        x, y = torch.from_numpy(shard.x[batch[batch >= 0]]), torch.from_numpy(shard.y[batch[batch >= 0]])
        scores = torch.func.functional_call(model, named_params(model, flat), (x,))
        away = 1 - flat @ start / (torch.linalg.vector_norm(flat) * torch.linalg.vector_norm(start))
        loss = (1 - a) * torch.nn.functional.cross_entropy(scores, y) + a * away
        (gradient,) = torch.autograd.grad(loss, flat)
        flat = flat - lr * gradient
    return (flat - start).detach().numpy()


def test_it_is_sgd_on_the_loss_of_the_paper():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    got = cosine_constrained(model, params, examples, a=0.8, lr=2.0).updates
    for row, shard in zip(got, examples, strict=True):
        np.testing.assert_allclose(row, by_the_formula(model, params, shard, 0.8, 2.0), atol=1e-5)


def test_more_weight_on_the_cosine_stays_nearer_to_the_direction_of_the_global_model():
    model, params = network(small_mlp)
    examples = shards((6,), [40], epochs=10)
    updates = [cosine_constrained(model, params, examples, a=a).updates[0] for a in (0.0, 0.3, 0.6, 0.9)]
    cosines = [cosine(params + update, params) for update in updates]
    assert cosines == sorted(cosines)
    assert cosines[0] < 0.9 < cosines[-1]


def test_it_turns_back_where_steps_of_the_same_length_do_not():
    model, params = network(small_mlp)
    examples = shards((6,), [40], epochs=20)
    bent = cosine_constrained(model, params, examples, a=0.9, lr=1.0).updates[0]
    free = sgd(model, params, examples, lr=0.1).updates[0]
    assert cosine(params + bent, params) > cosine(params + free, params)


@pytest.mark.parametrize(("optimiser", "plain"), [("sgd", partial(sgd, momentum=0.9)), ("adam", adam)])
def test_no_weight_on_the_cosine_is_plain_training(optimiser, plain):
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    bent = cosine_constrained(model, params, examples, a=0.0, optimiser=optimiser, lr=0.05, momentum=0.9)
    np.testing.assert_allclose(bent.updates, plain(model, params, examples, lr=0.05).updates, atol=1e-6)


def test_networks_that_cannot_train_side_by_side_train_too():
    words = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    model, params = network(partial(lstm, vectors=words, hidden=4))
    (shard,) = shards((7,), [12], n_classes=2)
    shard = shard._replace(x=np.abs(shard.x).round())
    update = cosine_constrained(model, params, [shard]).updates
    assert np.abs(update).max() > 0


@pytest.mark.parametrize(
    ("wrong", "match"),
    [({"a": -0.1}, "a, the weight"), ({"a": np.nan}, "a, the weight"), ({"optimiser": "lion"}, "optimiser")],
)
def test_settings_outside_their_range_are_refused(wrong, match):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=match):
        cosine_constrained(model, params, shards((6,), [5]), **wrong)
