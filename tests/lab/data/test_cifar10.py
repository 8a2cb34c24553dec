import pickle
from importlib import import_module

import numpy as np
import pytest

from holdfast import InputError
from holdfast.errors import DataError
from holdfast.lab.attacks import distributed_pixels, edge_case
from holdfast.lab.data import cifar10
from holdfast.lab.data.cifar10 import normalise

from .folder import CIFAR10

MODULE = import_module("holdfast.lab.data.cifar10")


def written(folder):
    """Write a small CIFAR-10 of made-up images, and edge cases of the published form."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(40, 32, 32, 3), dtype=np.uint8)
    labels = (np.arange(40) % 10).astype(np.uint8)
    for part in ("train", "test"):
        np.save(folder / f"cifar10_{part}_images.npy", images)
        np.save(folder / f"cifar10_{part}_labels.npy", labels)
    train = rng.integers(0, 256, size=(784, 32, 32, 3), dtype=np.uint8)
    test = rng.integers(0, 256, size=(196, 32, 32, 3), dtype=np.uint8)
    np.savez(folder / "southwest_edge_case.npz", train=train, test=test)
    return images, labels, train, test


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    monkeypatch.setattr(MODULE, "check_published", lambda arrays, sums: None)
    return tmp_path


def test_the_first_images_of_each_class_are_taken_in_their_own_order(folder):
    images, labels, *_ = written(folder)
    data = cifar10(n_train=20, n_test=10)
    np.testing.assert_array_equal(data.y_train, labels[:20])
    np.testing.assert_array_equal(data.x_train, normalise(images[:20]))
    np.testing.assert_array_equal(data.x_test, normalise(images[:10]))


def test_raw_values_lead_back_to_the_pixels(folder):
    images, *_ = written(folder)
    data = cifar10(n_train=20, n_test=10)
    raw = data.x_train * data.raw_scale + data.raw_mean
    np.testing.assert_allclose(raw, images[:20].transpose(0, 3, 1, 2) / 255, atol=1e-6)


def test_triggers_of_white_pixels_are_white_in_every_channel(folder):
    written(folder)
    data = cifar10(n_train=20, n_test=10)
    challenge = distributed_pixels(data).challenge * data.raw_scale + data.raw_mean
    np.testing.assert_allclose(challenge[:, :, 4, 9:15], 1.0, atol=1e-6)


def test_the_photograph_in_both_parts_of_the_pool_is_taken_from_the_test(folder):
    *_, train, test = written(folder)
    pool = cifar10(n_train=20, n_test=10).pools["southwest"]
    assert (pool.label, pool.n_views, len(pool.train), len(pool.test)) == (0, 4, 784, 192)
    np.testing.assert_array_equal(pool.test[139:141], normalise(test[[139, 144]]))
    np.testing.assert_array_equal(pool.train, normalise(train))


def test_other_edge_cases_than_the_published_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    written(tmp_path)
    with pytest.raises(DataError, match=r"southwest_train of shape .* are not those that were published"):
        cifar10(n_train=20, n_test=10)


def write_batches(folder, images, labels):
    rows = images.transpose(0, 3, 1, 2).reshape(len(images), 3072)
    (folder / "cifar-10-batches-py").mkdir()
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        held = {b"data": rows, b"labels": labels.tolist(), b"filenames": [b"a.png"]}
        (folder / "cifar-10-batches-py" / name).write_bytes(pickle.dumps(held, protocol=2))


def test_the_original_batches_are_read_from_their_folder(folder):
    images, labels, *_ = written(folder)
    (folder / "cifar10_train_images.npy").unlink()
    write_batches(folder, images, labels)
    data = cifar10(n_train=200, n_test=10)
    np.testing.assert_array_equal(data.x_train, normalise(np.tile(images, (5, 1, 1, 1))))
    np.testing.assert_array_equal(data.y_train, np.tile(labels, 5))


def test_other_images_than_the_published_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    write_batches(tmp_path, np.zeros((4, 32, 32, 3), np.uint8), np.arange(4))
    with pytest.raises(DataError, match=r"train_images of shape \(20, 32, 32, 3\) are not those that were"):
        cifar10()


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"n_train": 55}, "n_train must be a multiple of 10, as many of each class; got 55"),
        ({"n_train": 0}, "n_train must be a whole number from 10 to 50000; got 0"),
        ({"n_test": 20_000}, "n_test must be a whole number from 10 to 10000; got 20000"),
    ],
)
def test_counts_that_cannot_be_had_are_refused(settings, needed):
    with pytest.raises(InputError, match=needed):
        cifar10(**settings)


def test_files_that_are_damaged_or_too_few_images_are_refused(folder):
    written(folder)
    with pytest.raises(DataError, match="no 5 images of every class among these 40"):
        cifar10(n_train=50, n_test=10)
    for name in ("southwest_edge_case.npz", "cifar10_test_images.npy"):
        path = folder / name
        path.write_bytes(path.read_bytes()[:5000])
        with pytest.raises(DataError, match=r"must hold (the arrays|an array)"):
            cifar10(n_train=20, n_test=10)


def test_without_the_images_it_says_what_to_do(folder):
    with pytest.raises(DataError, match=r"no cifar10.* \(CIFAR-10\) in .*'holdfast data get cifar10'"):
        cifar10()


@CIFAR10
def test_the_real_images_are_balanced_and_normalised():
    data = cifar10(n_train=10_000, n_test=10_000)
    assert (np.bincount(data.y_train) == 1000).all()
    np.testing.assert_allclose(data.x_train.mean(axis=(0, 2, 3)), 0, atol=0.02)


@CIFAR10
def test_edge_cases_of_cifar10_are_planted():
    backdoor = edge_case(cifar10(n_train=100, n_test=100), pool="southwest", target=9)
    assert backdoor.challenge.shape == (192, 3, 32, 32)
