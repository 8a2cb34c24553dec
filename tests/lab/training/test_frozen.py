"""Networks of which a part must stay as it is: no way to train moves it, or else it says so."""

from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab import training
from holdfast.lab.models import flat_params
from holdfast.lab.training import Shard

N_FROZEN = 4 * 6 + 6
PREVIOUS = np.full(N_FROZEN + 6 * 3 + 3, 0.1, np.float32)
SPAN = (np.array([-3], np.float32), np.array([3], np.float32))


def half_frozen():
    network = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.ReLU(), torch.nn.Linear(6, 3))
    network[0].requires_grad_(False)
    return network


def moved(train):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(32, 4)).astype(np.float32), np.arange(32) % 3
    shard = Shard(x, y, np.arange(32).reshape(4, 8), poisoned=np.arange(32) > 20)
    network = half_frozen()
    trained = train(network, flat_params(network), [shard])
    return np.abs(getattr(trained, "updates", trained)[0])


@pytest.mark.parametrize(
    "train",
    [
        training.sgd,
        training.adam,
        training.lean_sgd,
        training.fl_wbc,
        training.lead_fl,
        training.soda,
        partial(training.csft, previous=PREVIOUS),
        partial(training.flood, previous=PREVIOUS, span=SPAN),
    ],
)
def test_a_frozen_layer_stays_as_it_is(train):
    steps = moved(train)
    assert steps[N_FROZEN:].max() > 0
    assert steps[:N_FROZEN].max() == 0


@pytest.mark.parametrize(
    "train", [training.batched_sgd, training.projected_sgd, training.constrained_sgd, training.anticipate]
)
def test_what_trains_all_parameters_refuses_a_frozen_layer(train):
    with pytest.raises(
        InputError, match=r"trains all parameters of a network, and 0\.weight, 0\.bias must not"
    ):
        moved(train)


def test_an_encoder_that_is_frozen_cannot_learn_by_contrast():
    with pytest.raises(InputError, match="no encoder to train"):
        moved(training.chameleon)
