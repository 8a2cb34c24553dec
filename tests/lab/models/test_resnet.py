import pickle

import numpy as np
import pytest
import torch
from torch.func import functional_call

from holdfast import InputError
from holdfast.errors import DataError
from holdfast.lab.models import build_network, flat_params, named_params, resnet18


def names_of_torchvision():
    """Return the names of torchvision's state dict, by the rule they are made by."""

    def norm(prefix):
        kept = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
        return [f"{prefix}.{name}" for name in kept]

    names = ["conv1.weight", *norm("bn1")]
    for stage in range(1, 5):
        for block in range(2):
            prefix = f"layer{stage}.{block}"
            for number in (1, 2):
                names += [f"{prefix}.conv{number}.weight", *norm(f"{prefix}.bn{number}")]
            if stage > 1 and block == 0:
                names += [f"{prefix}.downsample.0.weight", *norm(f"{prefix}.downsample.1")]
    return [*names, "fc.weight", "fc.bias"]


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({}, 11_689_512),
        ({"head": 10}, 11_181_642),
        ({"head": 10, "stem": "cifar"}, 11_173_962),
        ({"head": 10, "stem": "cifar", "norm": "group"}, 11_173_962),
    ],
)
def test_the_sizes_are_the_known_ones(settings, size):
    assert flat_params(resnet18(**settings)).size == size


def test_the_names_and_their_order_are_torchvisions():
    state = resnet18().state_dict()
    assert list(state) == names_of_torchvision()
    assert state["conv1.weight"].shape == (64, 3, 7, 7)
    assert state["layer2.0.downsample.0.weight"].shape == (128, 64, 1, 1)
    assert state["fc.weight"].shape == (1000, 512)


def test_batch_statistics_are_none_of_the_params():
    kept = [buffer for name, buffer in resnet18().named_buffers() if "running" in name]
    assert sum(buffer.numel() for buffer in kept) == 9_600


@pytest.mark.parametrize("stem", ["imagenet", "cifar"])
@pytest.mark.parametrize("norm", ["batch", "group"])
@pytest.mark.parametrize("width", [6, 16])
def test_every_variant_answers_for_small_images(stem, norm, width):
    model = resnet18(head=10, stem=stem, norm=norm, width=width)
    assert model(torch.rand(2, 3, 32, 32)).shape == (2, 10)
    assert model.layer4[1].conv2.weight.shape[0] == 8 * width


def test_the_cifar_stem_keeps_the_side_of_an_image():
    sides = {}
    for stem in ("imagenet", "cifar"):
        model = resnet18(head=10, stem=stem, width=8)
        model.layer4.register_forward_hook(lambda _, __, out, stem=stem: sides.update({stem: out.shape[2]}))
        model(torch.rand(2, 3, 32, 32))
    assert sides == {"imagenet": 1, "cifar": 4}


def test_group_norm_answers_the_same_for_an_image_alone_and_trained_from_flat_params():
    model = build_network(lambda: resnet18(head=10, norm="group", width=8), seed=3)
    x = torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(model(x)[:1], model(x[:1]), rtol=1e-4, atol=1e-5)
    named = named_params(model, torch.from_numpy(flat_params(model)))
    torch.testing.assert_close(functional_call(model, named, (x,)), model(x))


def test_weights_depend_on_the_seed_alone():
    one, again, other = (
        flat_params(build_network(lambda: resnet18(width=8), seed=seed)) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, again)
    assert (one != other).any()


@pytest.mark.parametrize("form", ["pth", "safetensors"])
def test_a_file_of_weights_gives_the_network_back(form, tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    trained = resnet18(head=10, width=8)
    trained(torch.rand(4, 3, 32, 32))  # so that the statistics are not the first ones either
    if form == "pth":
        torch.save(trained.state_dict(), tmp_path / "net.pth")
    else:
        save_file = pytest.importorskip("safetensors.torch").save_file
        save_file(trained.state_dict(), tmp_path / "net.safetensors")
    loaded = resnet18(head=10, width=8, weights=f"net.{form}")
    for name, value in trained.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], value)


def test_a_head_of_another_size_starts_fresh_and_the_rest_is_loaded(tmp_path):
    trained = resnet18(head=7, width=8)
    torch.save(trained.state_dict(), tmp_path / "net.pth")
    loaded = resnet18(head=10, width=8, weights=str(tmp_path / "net.pth"))
    assert loaded.fc.weight.shape == (10, 64)
    assert torch.equal(loaded.layer3[0].conv1.weight, trained.layer3[0].conv1.weight)


def test_weights_of_another_network_are_refused(tmp_path):
    torch.save(resnet18(head=10, width=4).state_dict(), tmp_path / "net.pth")
    with pytest.raises(DataError, match="does not fit the network"):
        resnet18(head=10, width=8, weights=str(tmp_path / "net.pth"))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match=r"no weights at .*net\.pth"):
        resnet18(width=4, weights=str(tmp_path / "net.pth"))


class Trap:
    def __reduce__(self):
        return print, ("run",)


def test_a_file_that_would_run_code_is_refused_and_runs_nothing(tmp_path, capsys):
    torch.save({"fc.weight": Trap()}, tmp_path / "net.pth")
    (tmp_path / "plain.pth").write_bytes(pickle.dumps(Trap(), protocol=2))
    (tmp_path / "net.safetensors").write_bytes(b"no header")
    for name in ("net.pth", "plain.pth", "net.safetensors"):
        with pytest.raises(DataError, match="is not a file of weights alone"):
            resnet18(width=4, weights=str(tmp_path / name))
    assert capsys.readouterr().out == ""


def test_an_unknown_variant_is_refused():
    with pytest.raises(InputError, match=r'stem must be "imagenet" or "cifar".*got .vgg'):
        resnet18(stem="vgg")
