import numpy as np
import pytest
import torch

from holdfast.lab.models import resnet18
from holdfast.lab.models._taps import TapConv, lean_twin
from holdfast.lab.training import lean_sgd, sgd

from .cases import NETWORKS, network, shards


def paper_like():
    return resnet18(head=3, width=8)


def wide_stem():
    return resnet18(head=3, width=8, stem="cifar", norm="group")


ALL = {**NETWORKS, "resnet": (paper_like, (3, 32, 32)), "resnet-group": (wide_stem, (3, 16, 16))}


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_lean_training_is_that_of_sgd_up_to_rounding(name, momentum):
    make, shape = ALL[name]
    model, params = network(make)
    examples = shards(shape, [16, 24], epochs=1, batch_size=8)
    exact = sgd(model, params, examples, lr=0.01, momentum=momentum)
    lean = lean_sgd(model, params, examples, lr=0.01, momentum=momentum)
    off = np.linalg.norm(lean.updates - exact.updates, axis=1) / np.linalg.norm(exact.updates, axis=1)
    # Over several steps a residual network makes more of a rounding error: a ReLU may flip.
    assert (off < (0.01 if "resnet" in name else 1e-5)).all()
    for ours, theirs in zip(lean.buffers, exact.buffers, strict=True):
        for own, values in theirs.items():
            np.testing.assert_allclose(ours[own], values, rtol=1e-3, atol=1e-4)


def test_the_same_bits_again_whoever_trains_beside():
    model, params = network(paper_like)
    one, two = shards((3, 32, 32), [9, 14], batch_size=7)
    both = lean_sgd(model, params, [one, two])
    alone = lean_sgd(model, params, [two])
    np.testing.assert_array_equal(both.updates[1], alone.updates[0])
    for name, values in alone.buffers[0].items():
        np.testing.assert_array_equal(both.buffers[1][name], values)


def test_weights_that_meet_padding_only_do_not_move():
    model, params = network(paper_like)
    moved = lean_sgd(model, params, shards((3, 32, 32), [8], batch_size=8)).updates[0]
    start = 0
    for name, parameter in model.named_parameters():
        part = moved[start : start + parameter.numel()].reshape(parameter.shape)
        start += parameter.numel()
        if name == "layer4.1.conv2.weight":  # on maps of one pixel
            assert (part[:, :, 1, 1] != 0).any()
            part[:, :, 1, 1] = 0
            assert not part.any()


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [1, 3, 5])
@pytest.mark.parametrize("side", [1, 2, 3, 4])
def test_products_of_taps_are_the_convolution_and_its_gradients(side, kernel, stride):
    generator = torch.Generator().manual_seed(0)
    conv = torch.nn.Conv2d(4, 6, kernel, stride, padding=kernel // 2, bias=False).double()
    x = torch.randn(5, 4, side, side, generator=generator, dtype=torch.float64, requires_grad=True)
    other = x.detach().clone().requires_grad_()
    lean = TapConv(conv, side)
    out = conv(x)
    weights = torch.randn(out.shape, generator=generator, dtype=torch.float64)
    (out * weights).sum().backward()
    (lean(other) * weights).sum().backward()
    torch.testing.assert_close(lean(other), out)
    torch.testing.assert_close(other.grad, x.grad)
    torch.testing.assert_close(
        lean.taps.grad.permute(3, 2, 0, 1), conv.weight.grad[:, :, lean.live, lean.live]
    )
    rest = conv.weight.grad.clone()
    rest[:, :, lean.live, lean.live] = 0
    assert not rest.any()


def test_only_small_maps_and_plain_convolutions_are_replaced():
    odd = torch.nn.Sequential(
        torch.nn.Conv2d(2, 2, 3, padding=1, bias=False),
        torch.nn.Conv2d(2, 2, 3, padding=1),
        torch.nn.Conv2d(2, 2, 3, padding="same", bias=False),
        torch.nn.Conv2d(2, 2, 3, padding=1, groups=2, bias=False),
    )
    kinds = [type(module).__name__ for module in lean_twin(odd, torch.zeros(1, 2, 2, 2))]
    assert kinds == ["TapConv", "Conv2d", "Conv2d", "Conv2d"]
    kinds = [type(module).__name__ for module in lean_twin(odd, torch.zeros(1, 2, 4, 4))]
    assert kinds == ["Conv2d"] * 4


def test_the_callers_network_keeps_its_params_and_its_layout():
    model, params = network(paper_like)
    lean_sgd(model, params, shards((3, 32, 32), [5]))
    np.testing.assert_array_equal(torch.cat([p.detach().ravel() for p in model.parameters()]).numpy(), params)
    assert all(parameter.is_contiguous() for parameter in model.parameters())
