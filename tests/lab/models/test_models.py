from functools import partial

import numpy as np
import torch
from torch.func import functional_call

from holdfast.lab.models import (
    build_network,
    cifar_cnn,
    flat_params,
    mlp,
    named_params,
    small_cnn,
    wide_cnn,
)


def test_the_phishing_network_has_the_papers_size():
    assert flat_params(mlp()).size == 39_426


def test_a_network_has_layers_of_these_sizes_with_relu_between():
    layers = list(mlp(sizes=(3, 5, 2)))
    assert [type(layer).__name__ for layer in layers] == ["Linear", "ReLU", "Linear"]
    assert layers[2].weight.shape == (2, 5)


def test_the_small_cnn_takes_images_of_any_side_and_channels():
    assert small_cnn(side=32, n_channels=3, n_classes=7)(torch.zeros(2, 3, 32, 32)).shape == (2, 7)


def test_weights_depend_on_the_seed_alone():
    one, again, other = (flat_params(build_network(mlp, seed=seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


def test_making_a_network_leaves_torchs_generator_as_it_was():
    before = torch.get_rng_state()
    build_network(small_cnn, seed=5)
    assert torch.equal(torch.get_rng_state(), before)


def test_flat_params_are_a_copy_in_the_networks_own_order():
    model = mlp(sizes=(2, 2))
    flat = flat_params(model)
    np.testing.assert_array_equal(flat[:4], model[0].weight.detach().numpy().ravel())
    flat[:] = 7
    assert (model[0].weight != 7).all()


def test_named_params_give_a_network_back_its_answers():
    model, x = small_cnn(), torch.rand(3, 1, 8, 8)
    named = named_params(model, torch.from_numpy(flat_params(model)))
    torch.testing.assert_close(functional_call(model, named, (x,)), model(x))


def test_the_cnn_for_cifar_is_small_and_has_no_norm_layers():
    model = cifar_cnn()
    assert 100_000 <= flat_params(model).size <= 300_000
    assert not list(model.buffers())
    assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)


def test_the_wide_cnn_is_the_cnn_for_cifar_with_another_hidden_layer():
    narrow, wide = (build_network(make, seed=0) for make in (cifar_cnn, partial(wide_cnn, hidden=64)))
    np.testing.assert_array_equal(flat_params(narrow), flat_params(wide))
    assert flat_params(wide_cnn()).size == 321_290
