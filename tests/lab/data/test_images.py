import io
import json
import pickle
import tarfile

import numpy as np
import pytest

from holdfast.errors import DataError
from holdfast.lab.data import images
from holdfast.lab.data.images import check_images, load_images, read_archive, read_package

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


def is_made_up(arrays):
    np.testing.assert_array_equal(arrays["train_images"], TRAIN)
    np.testing.assert_array_equal(arrays["test_images"], MADE_UP["test_batch"])
    assert arrays["train_labels"].tolist() == [0, 1, 2, 3] * 5
    assert arrays["test_labels"].tolist() == [0, 1, 2, 3]


def test_the_original_batches_are_read_from_their_archive(tmp_path):
    files = {f"cifar-10-batches-py/{name}": python_batch(name) for name in BATCHES}
    is_made_up(read_archive(tar_of(tmp_path / "cifar-10-python.tar.gz", files)))


def test_the_pictures_of_the_package_are_read(tmp_path):
    pytest.importorskip("PIL")
    files = {f"package/{name}.png": png(name) for name in BATCHES}
    files["package/train_lables.json"] = json.dumps([0, 1, 2, 3] * 5).encode()
    files["package/test_lables.json"] = json.dumps([0, 1, 2, 3]).encode()
    is_made_up(read_package(tar_of(tmp_path / "package.tgz", files)))


def test_a_batch_that_would_run_code_is_refused(tmp_path):
    files = {f"cifar-10-batches-py/{name}": pickle.dumps(print) for name in BATCHES}
    with pytest.raises(DataError, match=r"refused: it asks for builtins\.print"):
        read_archive(tar_of(tmp_path / "a.tgz", files))


@pytest.mark.parametrize(
    "held", [{"data": np.zeros(5)}, {"labels": [1]}, [1], {"data": [[1]], "labels": [1]}]
)
def test_a_batch_that_is_none_is_refused(tmp_path, held):
    files = {f"cifar-10-batches-py/{name}": pickle.dumps(held, protocol=2) for name in BATCHES}
    with pytest.raises(DataError, match="data_batch_1 is no batch of CIFAR-10"):
        read_archive(tar_of(tmp_path / "a.tgz", files))


def test_a_picture_that_is_none_is_refused(tmp_path):
    pytest.importorskip("PIL")
    files = {f"package/{name}.png": png(name)[:500] for name in BATCHES}
    with pytest.raises(DataError, match="not a whole one of CIFAR-10"):
        read_package(tar_of(tmp_path / "a.tgz", files))


def test_a_picture_of_another_size_is_refused(tmp_path):
    image, file = pytest.importorskip("PIL.Image"), io.BytesIO()
    image.new("RGB", (320, 320)).save(file, "png")
    path = tar_of(tmp_path / "a.tgz", {"package/data_batch_1.png": file.getvalue()})
    with pytest.raises(DataError, match="a row must be the 1024 pixels of an image; got 320"):
        read_package(path)


@pytest.fixture
def batches(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in BATCHES:
        (folder / name).write_bytes(python_batch(name))


def test_the_original_batches_are_read_from_their_folder(batches, monkeypatch):
    monkeypatch.setattr(images, "check_images", lambda arrays: arrays)
    is_made_up(load_images())


def test_other_images_than_cifar10s_are_refused(batches):
    with pytest.raises(DataError, match=r"train_images of shape \(20, 32, 32, 3\) are not those of CIFAR-10"):
        load_images()


def test_blank_images_of_the_right_shape_are_refused():
    with pytest.raises(DataError, match="test_images of shape"):
        check_images({"test_images": np.zeros((10_000, 32, 32, 3), np.uint8)})
