import json
import os
import pickle
import resource
import zipfile

import numpy as np
import pytest
import torch

from holdfast.errors import DataError
from holdfast.files import save_tensors
from holdfast.files.opening import files_per_client, open_from_client, open_own
from holdfast.updates.layout import Unfit

from .rounds import some_models, write_round


@pytest.fixture
def path(tmp_path):
    save_tensors(tmp_path / "m.safetensors", {"w": np.arange(12, dtype=np.float32).reshape(3, 4)})
    return tmp_path / "m.safetensors"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            lambda file: np.savez(file, **{"layer.weight": np.ones(3)}),
            "is a file of numpy.savez, .*numpy.load",
        ),
        (lambda file: torch.save({"w": torch.ones(3)}, file), "is a file of torch.save, .*weights_only=True"),
        (
            lambda file: torch.save({"w": torch.ones(3)}, file, _use_new_zipfile_serialization=False),
            "is a pickle, not safetensors; if it is of torch.save, convert it: safetensors.torch.save_file",
        ),
        (lambda file: pickle.dump({"w": np.ones(3)}, file), "is a pickle, not safetensors"),
        (
            lambda file: zipfile.ZipFile(file, "w").writestr("a.txt", "a" * 200),
            "is a zip file, not safetensors",
        ),
    ],
)
def test_other_formats_for_models_are_named_with_how_to_convert_them(content, said, tmp_path):
    base, models = some_models(1)
    at, clients = write_round(tmp_path, base, models)
    with clients[0].open("wb") as file:
        content(file)
    with pytest.raises(Unfit, match=said):
        open_from_client(clients[0], open_own(at, name="the base"), n_files=1)
    with pytest.raises(DataError, match=f"the base, .*c00.safetensors, {said}"):
        open_own(clients[0], name="the base")


def test_a_part_of_a_tensor_is_read_in_flat_order(path):
    tensor = open_own(path, name="it").tensors["w"]
    part = tensor.part(slice(3, 9)).part(slice(1, 4))
    out = np.empty(2, np.float32)
    part.read(1, out)
    assert part.shape == (3,)
    assert out.tolist() == [5.0, 6.0]


def test_the_servers_own_file_may_be_a_link_and_a_clients_may_not(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    base = open_own(tmp_path / "link", name="the base")
    with pytest.raises(Unfit, match="symbolic link"):
        open_from_client(tmp_path / "link", base, n_files=1)


def test_files_are_closed_when_nothing_refers_to_them(path):
    before = len(os.listdir("/proc/self/fd"))
    model = open_own(path, name="it")
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del model
    assert len(os.listdir("/proc/self/fd")) == before


def test_too_many_open_files_are_not_the_clients_fault(path, monkeypatch):
    base = open_own(path, name="the base")

    def full(*_, **__):
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "open", full)
    with pytest.raises(OSError, match="Too many open files"):
        open_from_client(path, base, n_files=1)


def test_a_client_may_have_its_share_of_all_open_files(path, monkeypatch):
    base = open_own(path, name="the base")
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 1024))
    assert files_per_client(8, base) == 96
    assert files_per_client(10_000, base) == 1  # as many as the base


def test_a_client_with_more_files_than_its_share_is_unfit(tmp_path):
    """One client with a file per tensor of a large model would use up what all may have open."""
    save_tensors(tmp_path / "base.safetensors", {str(i): np.ones(2) for i in range(5)})
    base = open_own(tmp_path / "base.safetensors", name="the base")
    for i in range(5):
        save_tensors(tmp_path / f"{i}.safetensors", {str(i): np.ones(2)})
    index = tmp_path / "m.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {str(i): f"{i}.safetensors" for i in range(5)}}))
    assert len(open_from_client(index, base, n_files=5).files) == 5
    with pytest.raises(Unfit, match="has 5 files, more than the 4 that are allowed"):
        open_from_client(index, base, n_files=4)


def test_a_damaged_file_of_the_servers_own_is_an_error_with_its_name(path):
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        DataError, match=r"the base, .*m.safetensors, has \d+ bytes, but its header describes"
    ):
        open_own(path, name="the base")
