from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import lstm, named_params
from holdfast.lab.training import f3ba, sgd

from .cases import NETWORKS, network, shards, small_mlp
from .poisoned import poisoned_shard


def last_update(params):
    return np.random.default_rng(5).normal(size=params.size).astype(np.float32)


def parts(model, flat):
    return {name: part.numpy() for name, part in named_params(model, torch.from_numpy(flat)).items()}


@pytest.mark.parametrize("name", NETWORKS)
def test_only_signs_of_the_least_important_weights_before_the_last_layer_are_turned(name):
    make, shape = NETWORKS[name]
    model, params = network(make)
    previous = last_update(params)
    flips = f3ba(model, params, [poisoned_shard(shape)], lr=0.0, share=0.1, previous=previous).updates[0]
    before, importance, flips = (parts(model, flat) for flat in (params, previous * params, flips))
    *others, head = [tensor for tensor in before if tensor.endswith("weight")]
    assert any(flips[tensor].any() for tensor in others)
    for tensor, moved in flips.items():
        if tensor not in others:
            assert not moved.any(), (tensor, head)
            continue
        turned = moved != 0
        np.testing.assert_array_equal(moved[turned], -2 * before[tensor][turned])
        limit = np.sort(importance[tensor], axis=None)[int(0.1 * turned.size) - 1]
        assert (importance[tensor][turned] <= limit).all()


def test_turned_weights_have_the_sign_of_the_trigger():
    model, params = network(small_mlp)
    shard = poisoned_shard((6,))
    flips = f3ba(model, params, [shard], lr=0.0, share=1.0, previous=last_update(params)).updates[0]
    excess = shard.x[shard.poisoned].mean(axis=0) - shard.x[~shard.poisoned].mean(axis=0)
    after = parts(model, params + flips)["0.weight"]
    np.testing.assert_array_equal(np.sign(after), np.tile(np.sign(excess), (8, 1)))


def test_kernels_fit_the_patch_in_which_poisoned_images_differ_most():
    model, params = network(NETWORKS["cnn"][0])
    shard = poisoned_shard((1, 8, 8))
    x = np.zeros_like(shard.x)
    x[shard.poisoned, :, 4:7, 2:5] = [[1, -1, 1], [-1, 3, -1], [1, -1, 1]]
    flips = f3ba(model, params, [shard._replace(x=x)], lr=0.0, share=1.0, previous=last_update(params))
    kernels = parts(model, params + flips.updates[0])["0.weight"]
    wanted = np.array([[1, -1, 1], [-1, 1, -1], [1, -1, 1]])
    np.testing.assert_array_equal(np.sign(kernels), np.tile(wanted, (16, 1, 1, 1)))


@pytest.mark.parametrize("padding", ["same", "valid", 1])
def test_groups_strides_and_any_padding_are_convolutions_too(padding):
    def grouped():
        stride = 1 if padding == "same" else 2
        convolution = torch.nn.Conv2d(4, 6, 3, stride=stride, groups=2, padding=padding)
        return torch.nn.Sequential(
            convolution, torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(6, 3)
        )

    model, params = network(grouped)
    shard = poisoned_shard((4, 5, 5))
    x = np.zeros_like(shard.x)
    x[shard.poisoned, :2, 0:3, 0:3], x[shard.poisoned, 2:, 0:3, 0:3] = 1.0, -1.0
    flips = f3ba(model, params, [shard._replace(x=x)], lr=0.0, share=1.0, previous=last_update(params))
    kernels = parts(model, params + flips.updates[0])["0.weight"]
    fits = kernels if padding != 1 else kernels[:, :, 1:, 1:]  # at the rim it sees zeros outside
    assert (fits[:3] > 0).all()
    assert (fits[3:] < 0).all()


@pytest.mark.parametrize("without", ["previous", "poisoned"])
def test_without_a_last_update_or_a_trigger_it_is_plain_sgd(without):
    model, params = network(small_mlp)
    shard = poisoned_shard((6,))
    previous = None if without == "previous" else last_update(params)
    shard = shard._replace(poisoned=None) if without == "poisoned" else shard
    got = f3ba(model, params, [shard], momentum=0.9, previous=previous).updates
    np.testing.assert_array_equal(got, sgd(model, params, [shard], momentum=0.9).updates)


def test_it_trains_on_from_the_turned_weights():
    model, params = network(small_mlp)
    shard, previous = poisoned_shard((6,)), last_update(params)
    flips = f3ba(model, params, [shard], lr=0.0, share=0.2, previous=previous).updates[0]
    on = sgd(model, params + flips, [shard]).updates[0]
    got = f3ba(model, params, [shard], share=0.2, previous=previous).updates[0]
    np.testing.assert_allclose(got, flips + on, atol=1e-6)


def test_a_network_without_such_layers_is_refused():
    words = np.ones((9, 5), np.float32)
    model, params = network(partial(lstm, vectors=words, hidden=4))
    with pytest.raises(InputError, match="StackedLSTM has neither"):
        f3ba(model, params, shards((7,), [12]))


@pytest.mark.parametrize("wrong", [0.0, 1.5, np.nan])
def test_a_share_outside_its_range_is_refused(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match="share, of a layer's weights"):
        f3ba(model, params, shards((6,), [5]), share=wrong)


def test_a_layer_that_the_network_does_not_use_stays_as_it_is():
    class Spare(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.spare, self.body = torch.nn.Conv2d(2, 2, 3, groups=2), torch.nn.Linear(6, 4)
            self.head = torch.nn.Linear(4, 3)

        def forward(self, x):
            return self.head(self.body(x).relu())

    model, params = network(Spare)
    flips = f3ba(model, params, [poisoned_shard((6,))], lr=0.0, share=1.0, previous=last_update(params))
    moved = parts(model, flips.updates[0])
    assert moved["body.weight"].any()
    assert not moved["spare.weight"].any()
