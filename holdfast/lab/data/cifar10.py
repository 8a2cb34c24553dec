"""CIFAR-10, with photographs of Southwest's airplanes as edge cases.

Krizhevsky, 2009, Learning Multiple Layers of Features from Tiny Images. The edge cases are those of Wang et
al., 2020, https://arxiv.org/abs/2007.05084: blue airplanes, each in four rotations, passed off as trucks.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from .dataset import Dataset, Pool
from .folders import find_file, load_arrays
from .images import Bytes, Published, check_counts, check_published, first_of_each_class, load_images
from .pickles import unpickle_arrays

__all__ = [
    "BATCHES",
    "CIFAR10",
    "SUMS",
    "cifar10",
    "cifar10_released",
    "images_as_dataset",
    "normalise",
    "published_images",
    "read_batches",
]

MEAN = np.array([0.4914, 0.4822, 0.4465], dtype=np.float32)
SCALE = np.array([0.2470, 0.2435, 0.2616], dtype=np.float32)
AIRPLANE = 0
LEAKED = slice(140, 144)  # of the edge cases to test on: one photograph that is also among those to train on
BATCHES = "cifar-10-batches-py"  # the folder of the original archive

#: sha256 of the published images (n, 32, 32, 3) and labels, as bytes in C order.
SUMS: Mapping[str, str] = MappingProxyType(
    {
        "train_images": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
        "train_labels": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
        "test_images": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
        "test_labels": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
        "southwest_train": "2edd7fcabb6cc9ffd56a9a984fcafc704674d5dc08efaa62ec00b2284d39405c",
        "southwest_test": "342bf7aeb7563a92388f0f93e2ce15f5b8c8e0f5ca3d00aa95151927d4febc9d",
    }
)
CIFAR10 = Published("cifar10", (32, 32, 3), SUMS)


def cifar10(*, n_train: int = 50_000, n_test: int = 10_000) -> Dataset:
    """Return CIFAR-10 images, (n, 3, 32, 32), equally many per class, and the pool "southwest" of edge cases.

    Of each class the first ones are taken. Values are normalised by channel. The photograph that is in both
    parts of the pool is taken from its test.
    """
    check_counts(n_train=n_train, n_test=n_test, n_published=(50_000, 10_000))
    held = published_images()
    train, y_train = first_of_each_class(held["train_images"], held["train_labels"], count=n_train)
    test, y_test = first_of_each_class(held["test_images"], held["test_labels"], count=n_test)
    return images_as_dataset((train, y_train), (test, y_test), pools={"southwest": _southwest()})


def cifar10_released(*, n_train: int = 50_000, n_test: int = 10_000) -> Dataset:
    """Return CIFAR-10 as the released code feeds it: honest images from 0 to 255, edge cases from 0 to 1.

    https://github.com/Xiaoyang-Wang/InvariantAggregator at b489505. Its `experiments/backdoor_CIFAR/
    data_loaders/text_dataset.py` transposes honest images as stored, to (3, columns, rows). `core/client.py`
    divides the edge cases by 255, as (3, rows, columns). All 196 photographs to test on are kept.
    """
    check_counts(n_train=n_train, n_test=n_test, n_published=(50_000, 10_000))
    held = published_images()
    train, y_train = first_of_each_class(held["train_images"], held["train_labels"], count=n_train)
    test, y_test = first_of_each_class(held["test_images"], held["test_labels"], count=n_test)
    edge_train, edge_test = _southwest_images()
    pool = Pool(_as_shares(edge_train), _as_shares(edge_test), AIRPLANE, n_views=4)
    return Dataset(
        train.transpose(0, 3, 2, 1).astype(np.float32),
        y_train,
        test.transpose(0, 3, 2, 1).astype(np.float32),
        y_test,
        raw_scale=np.full(1, 1 / 255, np.float32),
        pools={"southwest": pool},
    )


def _as_shares(images: Bytes) -> NDArray[np.float32]:
    """Return images (n, rows, columns, 3) in bytes as (n, 3, rows, columns), from 0 to 1."""
    return images.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(255)


def images_as_dataset(
    train: tuple[Bytes, Bytes], test: tuple[Bytes, Bytes], *, pools: Mapping[str, Pool]
) -> Dataset:
    """Return images and their labels as the data set that networks see."""
    return Dataset(
        normalise(train[0]),
        train[1],
        normalise(test[0]),
        test[1],
        raw_mean=MEAN.reshape(3, 1, 1),
        raw_scale=SCALE.reshape(3, 1, 1),
        pools=pools,
    )


def normalise(images: Bytes) -> NDArray[np.float32]:
    """Return images (n, rows, columns, 3) in bytes as (n, 3, rows, columns), normalised."""
    n, rows, columns, n_channels = images.shape
    x = np.empty((n, n_channels, rows, columns), dtype=np.float32)
    for channel in range(n_channels):
        np.divide(images[..., channel], 255 * SCALE[channel], out=x[:, channel])
        x[:, channel] -= MEAN[channel] / SCALE[channel]
    return x


def read_batches(read: Callable[[str], bytes]) -> dict[str, Bytes]:
    """Return the images and labels of the original Python batches, pickles; `read` returns one's bytes."""

    def batch(name: str) -> tuple[Bytes, Bytes]:
        held = unpickle_arrays(read(name))
        try:
            images = np.asarray(held["data"], dtype=np.uint8).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            return images, np.array(held["labels"], dtype=np.uint8)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{name} is not a batch of CIFAR-10: {error}") from None

    images, labels = zip(*(batch(f"data_batch_{i}") for i in range(1, 6)), strict=True)
    test_images, test_labels = batch("test_batch")
    return {
        "train_images": np.concatenate(images),
        "train_labels": np.concatenate(labels),
        "test_images": test_images,
        "test_labels": test_labels,
    }


def published_images() -> dict[str, Bytes]:
    """Return images and labels, mapped from the .npy files that 'holdfast data get' installs, or read from
    the original Python batches, in the folder that torchvision unpacks.
    """
    path = find_file(CIFAR10.files[0], BATCHES, what="CIFAR-10", get="cifar10")
    if path.is_dir():
        arrays = read_batches(lambda name: (path / name).read_bytes())
        check_published(arrays, sums=SUMS)
        return arrays
    return load_images(path.parent, published=CIFAR10)


def _southwest() -> Pool:
    train, test = _southwest_images()
    return Pool(normalise(train), normalise(np.delete(test, LEAKED, axis=0)), AIRPLANE, n_views=4)


def _southwest_images() -> tuple[Bytes, Bytes]:
    """Return the edge cases to train on and to test on."""
    what = "Southwest's airplanes of Wang et al., 2020"
    path = find_file("southwest_edge_case.npz", what=what, get="southwest")
    train, test = load_arrays(path, "train", "test")
    check_published({"southwest_train": train, "southwest_test": test}, sums=SUMS)
    return train, test
