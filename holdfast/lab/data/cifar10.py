"""CIFAR-10, with photographs of Southwest's airplanes as edge cases.

Krizhevsky, 2009, Learning Multiple Layers of Features from Tiny Images. The edge cases are those of Wang et
al., 2020, https://arxiv.org/abs/2007.05084: blue airplanes, each in four turns, passed off as trucks.
"""

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import DataError, InputError
from .arrays import load_arrays
from .dataset import Dataset, Pool
from .folders import find_file
from .images import load_images

__all__ = ["cifar10"]

Bytes = NDArray[np.uint8]

MEAN = np.array([0.4914, 0.4822, 0.4465], dtype=np.float32)
SCALE = np.array([0.2470, 0.2435, 0.2616], dtype=np.float32)
N_CLASSES = 10
AIRPLANE = 0
#: One photograph of the edge cases is in both of their parts, in its four turns.
LEAKED = slice(140, 144)


def cifar10(*, n_train: int = 50_000, n_test: int = 10_000) -> Dataset:
    """Return images (n, 3, 32, 32), the first of each class in equal number, and the pool "southwest".

    Values are normalised by channel. The photograph that is in both parts of the pool is taken from its test.

    >>> data = cifar10(n_train=10_000)  # doctest: +SKIP
    >>> data.x_train.shape, data.pools["southwest"].test.shape  # doctest: +SKIP
    ((10000, 3, 32, 32), (192, 3, 32, 32))
    """
    for name, count, most in (("n_train", n_train, 50_000), ("n_test", n_test, 10_000)):
        check_whole(name, count, at_least=N_CLASSES, at_most=most)
        if count % N_CLASSES:
            raise InputError(f"{name} must be a multiple of {N_CLASSES}, as many of each class; got {count}")
    held = load_images()
    train = _first(n_train, held["train_images"], held["train_labels"])
    test = _first(n_test, held["test_images"], held["test_labels"])
    return Dataset(
        normalise(train[0]),
        train[1],
        normalise(test[0]),
        test[1],
        raw_mean=MEAN.reshape(3, 1, 1),
        raw_scale=SCALE.reshape(3, 1, 1),
        pools={"southwest": _southwest()},
    )


def normalise(images: Bytes) -> NDArray[np.float32]:
    """Return images (n, rows, columns, 3) in bytes as (n, 3, rows, columns), normalised.

    >>> normalise(np.full((1, 1, 1, 3), 255, np.uint8)).ravel().round(3)
    array([2.059, 2.126, 2.116], dtype=float32)
    """
    n, rows, columns, n_channels = images.shape
    x = np.empty((n, n_channels, rows, columns), dtype=np.float32)
    for channel in range(n_channels):
        np.divide(images[..., channel], 255 * SCALE[channel], out=x[:, channel])
        x[:, channel] -= MEAN[channel] / SCALE[channel]
    return x


def _first(count: int, images: Bytes, labels: Bytes) -> tuple[Bytes, Bytes]:
    """Return the first images of each class, in their own order."""
    if count == len(labels):
        return images, labels
    of_class = [np.flatnonzero(labels == label)[: count // N_CLASSES] for label in range(N_CLASSES)]
    where = np.sort(np.concatenate(of_class))
    if len(where) != count:
        raise DataError(f"there are no {count // N_CLASSES} images of every class among these {len(labels)}")
    return images[where], labels[where]


def _southwest() -> Pool:
    what = "Southwest's airplanes of Wang et al., 2020"
    path = find_file("southwest_edge_case.npz", what=what, get="southwest")
    train, test = load_arrays(path, "train", "test")
    fits = train.shape == (784, 32, 32, 3) and test.shape == (196, 32, 32, 3)
    if not fits or not (test[LEAKED] == train[:, None]).all(axis=(2, 3, 4)).any():
        raise DataError(
            f"{path} must hold 784 images to train and 196 to test on, 32 x 32 x 3; got {train.shape} and"
            f" {test.shape}, or others than were published"
        )
    return Pool(normalise(train), normalise(np.delete(test, LEAKED, axis=0)), AIRPLANE, n_views=4)
