import numpy as np
import pytest
import torch

from holdfast.lab.models import cifar_cnn, resnet18
from holdfast.lab.models._taps import TapConv
from holdfast.lab.training import mixed_sgd, sgd

from .cases import NETWORKS, network, shards


def batch_normed():
    return resnet18(head=3, width=8, stem="cifar")


def paper_like():
    return resnet18(head=3, width=8)  # whose last maps have one pixel


ALL = {**NETWORKS, "resnet": (batch_normed, (3, 32, 32))}


@pytest.mark.parametrize("name", ALL)
def test_mixed_precision_goes_where_sgd_goes(name):
    make, shape = ALL[name]
    model, params = network(make)
    examples = shards(shape, [16, 24], epochs=1, batch_size=8)
    exact = sgd(model, params, examples, lr=0.01, momentum=0.5).updates
    mixed = mixed_sgd(model, params, examples, lr=0.01, momentum=0.5).updates
    off = np.linalg.norm(mixed - exact, axis=1) / np.linalg.norm(exact, axis=1)
    assert (off > 0).all()  # else nothing was computed in bfloat16
    # The residual network has eighteen layers, and batches of eight to normalise by.
    assert (off < (0.5 if name == "resnet" else 0.05)).all()


@pytest.mark.parametrize("side", [1, 2])
def test_products_of_taps_are_rounded_as_a_convolution_is(side):
    conv = torch.nn.Conv2d(4, 6, 3, padding=1, bias=False)
    lean = TapConv(conv, side)
    x = torch.randn(5, 4, side, side, generator=torch.Generator().manual_seed(0))
    with torch.autocast("cpu", torch.bfloat16):
        ours, torchs = lean(x), conv(x)
    assert ours.dtype == torchs.dtype == torch.bfloat16
    torch.testing.assert_close(ours, torchs, rtol=0.05, atol=0.02)
    ours.float().sum().backward()
    assert lean.taps.grad.dtype == torch.float32


@pytest.mark.parametrize("make", [batch_normed, paper_like])
def test_the_same_bits_again_whoever_trains_beside(make):
    model, params = network(make)
    one, two = shards((3, 32, 32), [9, 14], batch_size=7)
    both = mixed_sgd(model, params, [one, two])
    alone = mixed_sgd(model, params, [two])
    np.testing.assert_array_equal(both.updates[1], alone.updates[0])
    for name, values in alone.buffers[0].items():
        np.testing.assert_array_equal(both.buffers[1][name], values)


def test_the_callers_network_keeps_its_params_and_its_layout():
    model, params = network(cifar_cnn)
    mixed_sgd(model, params, shards((3, 32, 32), [6]))
    np.testing.assert_array_equal(torch.cat([p.detach().ravel() for p in model.parameters()]).numpy(), params)
    assert all(parameter.is_contiguous() for parameter in model.parameters())


def test_what_is_stored_of_a_run_says_how_it_was_trained():
    from holdfast.lab import TASKS
    from holdfast.lab.scenario import Run

    assert str(Run(TASKS["cifar10-semantic"]).description["task"]["train"]).startswith("mixed_sgd(lr=0.1")
