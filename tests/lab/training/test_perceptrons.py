"""Gradients by hand, held to their twin: torch.func.vmap and autograd, to the bit."""

import pytest
import torch
from torch import nn

from holdfast.lab.models import mlp
from holdfast.lab.training import _perceptrons, batched_sgd
from holdfast.lab.training._perceptrons import Perceptrons, layers_of
from holdfast.lab.training.batched import _gradient

from .cases import network, shards, small_mlp

#: The perceptrons of the tasks, and small ones.
SIZES = [(45, 128, 256, 2), (48, 128, 256, 2), (57, 128, 256, 2), (6, 8, 3), (4, 2), (9, 300, 10)]


def batch(rows, n_examples, sizes):
    generator = torch.Generator().manual_seed(n_examples)
    x = torch.randn(rows, n_examples, sizes[0], generator=generator)
    y = torch.randint(0, sizes[-1], (rows, n_examples), generator=generator)
    shares = torch.full((rows, n_examples), 1 / n_examples)
    shares[-1, n_examples // 2 + 1 :] = 0.0  # where a batch is not full
    return x, y, shares


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("alike", ["tried out", "never"])
def test_gradients_by_hand_have_the_bits_of_autograd(sizes, alike, monkeypatch):
    if alike == "never":
        monkeypatch.setattr(_perceptrons, "_adds_alike", lambda *shape: False)
    model, params = network(lambda: mlp(sizes=sizes))
    rows = torch.from_numpy(params).repeat(10, 1)
    rows += 0.01 * torch.randn(rows.shape, generator=torch.Generator().manual_seed(0))
    by_hand = Perceptrons(layers_of(model), rows)
    for n_rows, n_examples in [(10, 64), (10, 7), (3, 32), (1, 64), (2, 1)]:
        x, y, shares = batch(n_rows, n_examples, sizes)
        expected = _gradient(model, rows[:n_rows], x, y, shares)
        assert torch.equal(by_hand.gradient(rows[:n_rows], x, y, shares), expected)


def test_numbers_that_run_away_go_where_autograd_sends_them():
    model, params = network(small_mlp)
    rows = torch.from_numpy(params).repeat(3, 1)
    rows[0, 0], rows[1, 3] = torch.inf, torch.nan
    x, y, shares = batch(3, 5, (6, 3))
    found = Perceptrons(layers_of(model), rows).gradient(rows, x, y, shares)
    torch.testing.assert_close(found, _gradient(model, rows, x, y, shares), rtol=0, atol=0, equal_nan=True)


def test_a_label_without_a_score_is_refused():
    model, params = network(small_mlp)
    with pytest.raises(RuntimeError, match="out of bounds"):
        batched_sgd(model, params, shards((6,), (8,), n_classes=9))


def hooked():
    model = small_mlp()
    model[1].register_forward_hook(lambda module, inputs, output: 2 * output)
    return model


def twice():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.ReLU(), layer)


OTHERS = {
    "another function": lambda: nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3)),
    "ends in a function": lambda: nn.Sequential(nn.Linear(6, 3), nn.ReLU()),
    "no biases": lambda: nn.Sequential(nn.Linear(6, 3, bias=False)),
    "double precision": lambda: small_mlp().double(),
    "not in a row": lambda: nn.Linear(6, 3),
    "nothing": nn.Sequential,
    "a hook": hooked,
    "a layer twice": twice,
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_other_network_is_left_to_autograd(name):
    assert layers_of(OTHERS[name]()) is None


def test_a_hook_still_sees_what_goes_through():
    model, params = network(hooked)
    plain, _ = network(small_mlp)
    examples = shards((6,), (8, 8))
    assert (batched_sgd(model, params, examples) != batched_sgd(plain, params, examples)).any()
