from functools import partial

import numpy as np
import pytest
import torch
from torch.func import functional_call, grad
from torch.nn import functional

from holdfast import InputError
from holdfast.core import bind
from holdfast.lab.models import build_network, flat_params, lstm, named_params

VECTORS = np.random.default_rng(0).normal(size=(9, 6)).astype(np.float32)
VECTORS[0] = 0
SMALL = partial(lstm, vectors=VECTORS, hidden=5)


def test_the_network_has_the_papers_size_whatever_the_number_of_words():
    for n_words in (2, 50):
        assert flat_params(lstm(vectors=np.ones((n_words, 300), np.float32))).size == 723_602


def test_the_vectors_are_frozen_and_neither_sent_nor_stored():
    model = SMALL()
    assert not any("vectors" in name for name, _ in model.named_parameters())
    assert not any("vectors" in name for name in model.state_dict())
    before = model.vectors.clone()
    optimiser = torch.optim.SGD(model.parameters(), lr=1.0)
    functional.cross_entropy(model(torch.tensor([[3.0, 4.0]])), torch.tensor([1])).backward()
    optimiser.step()
    assert torch.equal(model.vectors, before)


def test_the_answer_is_read_after_the_last_word():
    model = build_network(SMALL, seed=1)
    short = torch.tensor([[3.0, 4.0]])
    padded = torch.tensor([[3.0, 4.0, 0.0, 0.0, 0.0], [5.0, 6.0, 7.0, 8.0, 2.0]])
    torch.testing.assert_close(model(padded)[:1], model(short))
    states, _ = model.lstm(model.vectors[padded.long()])
    torch.testing.assert_close(model(padded), model.fc(torch.stack([states[0, 1], states[1, 4]])))


def test_a_tweet_without_words_is_answered():
    assert torch.isfinite(SMALL()(torch.zeros(1, 4))).all()


def test_flat_params_reach_every_layer_through_functional_call():
    model, x, y = build_network(SMALL, seed=1), torch.tensor([[3.0, 4.0, 5.0]]), torch.tensor([1])
    other = torch.from_numpy(flat_params(build_network(SMALL, seed=2)))
    answers = functional_call(model, named_params(model, other), (x,))
    torch.testing.assert_close(answers, build_network(SMALL, seed=2)(x))

    def loss(flat):
        return functional.cross_entropy(functional_call(model, named_params(model, flat), (x,)), y)

    assert all((part != 0).any() for part in named_params(model, grad(loss)(other)).values())


def test_the_vectors_are_an_input_that_other_networks_do_not_ask_for():
    assert bind(lstm, "model", hidden=5)(vectors=VECTORS).fc.in_features == 5
    assert bind(lstm, "model").needs("vectors")


@pytest.mark.parametrize("vectors", [np.zeros(3), np.zeros((1, 3)), np.full((3, 3), np.nan)])
def test_vectors_of_the_wrong_form_are_refused(vectors):
    with pytest.raises(InputError, match="one row per word"):
        lstm(vectors=vectors)
