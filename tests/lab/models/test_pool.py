import pytest
import torch
from torch import nn

from holdfast.lab.models import build_network, cifar_cnn, small_cnn
from holdfast.lab.models._networks import HalvingPool
from holdfast.lab.models.lenet import lenet

NETWORKS = {"small": (small_cnn, 1, 8), "cifar": (cifar_cnn, 3, 32), "lenet": (lenet, 1, 28)}


def images(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).relu()


@pytest.mark.parametrize(
    "shape", [(3, 2, 8, 8), (2, 1, 7, 8), (2, 1, 8, 7), (1, 4, 2, 2), (2, 4, 6)], ids=str
)
def test_the_pool_without_gradients_is_torchs_own(shape):
    x = images(*shape)
    x.view(-1)[::9] = torch.nan
    with torch.no_grad():
        for given in (x, x.transpose(-1, -2)):
            found, expected = HalvingPool()(given), nn.MaxPool2d(2)(given)
            torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)


def test_of_equal_pixels_one_gets_the_gradient_as_in_torch():
    x, like = (torch.zeros(1, 1, 4, 4, requires_grad=True) for _ in range(2))
    HalvingPool()(x).sum().backward()
    nn.MaxPool2d(2)(like).sum().backward()
    assert torch.equal(x.grad, like.grad)


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_have_the_bits_of_a_network_with_torchs_pool(name):
    make, n_channels, side = NETWORKS[name]
    model, twin = (build_network(make, seed=0) for _ in range(2))
    for place, module in enumerate(twin):
        if isinstance(module, HalvingPool):
            twin[place] = nn.MaxPool2d(2)
    x = images(50, n_channels, side, side)
    with torch.no_grad():
        assert torch.equal(model(x), twin(x))
