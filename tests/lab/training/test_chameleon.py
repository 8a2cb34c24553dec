from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import lstm, mlp, named_params, resnet18, small_cnn
from holdfast.lab.training import chameleon, sgd
from holdfast.lab.training.chameleon import contrastive_loss, features, split_network

from .cases import NETWORKS, network, shards, small_mlp
from .poisoned import poisoned_shard


def slow_loss(rows, labels, weights, temperature):
    """Return the loss as the paper writes it, one anchor and one fellow after the other."""
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    total = 0.0
    for i, anchor in enumerate(rows):
        others = [j for j in range(len(rows)) if j != i]
        fellows = [j for j in others if labels[j] == labels[i]]
        among = np.log(sum(np.exp(anchor @ rows[j] / temperature) for j in others))
        for j in fellows:
            total -= weights[i] * (anchor @ rows[j] / temperature - among) / len(fellows)
    return total / len(rows)


def test_the_loss_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    rows, labels, weights = (
        rng.normal(size=(9, 4)),
        np.array([0, 0, 1, 2, 1, 0, 3, 1, 0]),
        rng.uniform(size=9),
    )
    found = contrastive_loss(*map(torch.from_numpy, (rows, labels, weights)), temperature=0.3)
    assert found.item() == pytest.approx(slow_loss(rows, labels, weights, 0.3))


@pytest.mark.parametrize("labels", [[0], [0, 1, 2]], ids=["one example", "no fellows"])
def test_who_has_no_fellows_pulls_at_nothing(labels):
    rows = torch.ones(len(labels), 3, requires_grad=True)
    loss = contrastive_loss(rows, torch.tensor(labels), torch.ones(len(labels)), temperature=0.1)
    loss.backward()
    assert loss.item() == 0
    assert (rows.grad == 0).all()


def named(model, flat):
    return {name: part.numpy() for name, part in named_params(model, torch.from_numpy(flat)).items()}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_encoder_learns_by_contrast_alone_and_then_rests(name):
    make, shape = NETWORKS[name]
    model, params = network(make)
    *_, weight, bias = named(model, params)
    other = params.copy()
    named(model, other)[weight][:] = -3.0  # a view: another head
    shard = poisoned_shard(shape)
    first, second = (named(model, chameleon(model, start, [shard]).updates[0]) for start in (params, other))
    for part in first.keys() - {weight, bias}:
        assert first[part].any()
        np.testing.assert_array_equal(first[part], second[part])
    assert (first[weight] != second[weight]).any()


def test_the_head_learns_on_what_the_encoder_then_shows():
    model, params = network(small_mlp)
    shard = poisoned_shard((6,))
    update = chameleon(model, params, [shard], lr=0.2, momentum=0.5).updates[0]
    after, own = named(model, params + update), named(model, update)
    seen = np.maximum(shard.x @ after["0.weight"].T + after["0.bias"], 0)
    head, start = torch.nn.Linear(8, 3), params[-27:]
    expected = sgd(head, start, [shard._replace(x=seen)], lr=0.2, momentum=0.5).updates[0]
    np.testing.assert_allclose(np.concatenate([own["2.weight"].ravel(), own["2.bias"]]), expected, atol=1e-5)


def test_buffers_of_the_encoder_rest_with_it():
    def normed():
        body = torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU()
        return torch.nn.Sequential(*body, torch.nn.Linear(8, 3))

    model, params = network(normed)
    shard = poisoned_shard((6,))
    (buffers,) = chameleon(model, params, [shard]).buffers
    assert buffers["1.num_batches_tracked"] == len(shard.batches)


def test_poisoned_examples_come_nearer_to_the_targets_than_by_plain_training():
    model, params = network(small_mlp)
    shard = poisoned_shard((6,), epochs=20)
    clean_target = ~shard.poisoned & (shard.y == 0)

    def nearness(update):
        at = named(model, params + update)
        seen = np.maximum(shard.x @ at["0.weight"].T + at["0.bias"], 0)
        seen /= np.linalg.norm(seen, axis=1, keepdims=True)
        return (seen[shard.poisoned] @ seen[clean_target].T).mean()

    weak, strong = (chameleon(model, params, [shard], target_weight=by).updates[0] for by in (0.0, 2.0))
    assert nearness(strong) > nearness(sgd(model, params, [shard]).updates[0])
    assert nearness(strong) > nearness(weak)


def test_who_has_nothing_poisoned_trains_like_everybody():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    got = chameleon(model, params, examples, momentum=0.9).updates
    np.testing.assert_array_equal(got, sgd(model, params, examples, momentum=0.9).updates)


@pytest.mark.parametrize(
    ("make", "x", "width"),
    [
        (mlp, torch.ones(2, 45), 256),
        (small_cnn, torch.ones(2, 1, 8, 8), 64),
        (partial(resnet18, width=4), torch.ones(2, 3, 32, 32), 32),
        (partial(lstm, vectors=np.ones((9, 5), np.float32), hidden=4), torch.ones(2, 7), 4),
    ],
    ids=["mlp", "cnn", "resnet", "lstm"],
)
def test_all_our_networks_have_a_head_and_an_encoder(make, x, width):
    model, _ = network(make)
    assert features(model, split_network(model)[0], x).shape == (2, width)


class Spare(torch.nn.Module):
    """A network whose last linear layer is not the one that gives the scores."""

    def __init__(self, used):
        super().__init__()
        self.body, self.head, self.last = (torch.nn.Linear(6, n) for n in (6, 3, 2))
        self.used = used

    def forward(self, x):
        hidden = self.body(x)
        return self.head(hidden) + self.used * self.last(hidden).sum() if self.used else self.head(hidden)


def in_rows():
    return torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Unflatten(1, (2, 3)), torch.nn.Linear(3, 3))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: torch.nn.Sequential(torch.nn.Conv1d(1, 1, 3), torch.nn.Flatten()), "has no linear layer"),
        (lambda: torch.nn.Linear(6, 3), "has no encoder to train"),
        (in_rows, r"\(5, 2, 3\)"),
        (partial(Spare, 0), r"as \[\]"),
        (partial(Spare, 1), r"as \[\(5, 6\)\], and have scores of the shape \(5, 3\)"),
    ],
    ids=["no linear layer", "no encoder", "several rows", "not used", "not the scores"],
)
def test_other_networks_are_refused(make, match):
    model, params = network(make)
    with pytest.raises(InputError, match=match):
        chameleon(model, params, [poisoned_shard((6,))])


@pytest.mark.parametrize(
    "wrong", [{"encoder_pace": 0.0}, {"temperature": np.nan}, {"temperature": -1.0}, {"target_weight": -1.0}]
)
def test_settings_outside_their_range_are_refused(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=next(iter(wrong))):
        chameleon(model, params, shards((6,), [5]), **wrong)
