"""Fashion-MNIST: grey pictures of clothes, shoes and bags.

Xiao, Rasul and Vollgraf, 2017, https://arxiv.org/abs/1708.07747, MIT licence.
The edge cases are trousers turned by a quarter. Attackers pass them off as dresses.
"""

import gzip
import math
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from .dataset import Dataset, Pool
from .folders import find_file
from .images import Bytes, Published, check_counts, first_of_each_class, load_images

__all__ = ["CLASSES", "FASHION_MNIST", "fashion_mnist", "read_idx", "read_idx_stream", "scaled"]

UNSIGNED_BYTES = 0x08  # as an IDX file says it
MOST_BYTES = 60_000 * 28 * 28

#: What the labels 0 to 9 stand for.
CLASSES = (
    "T-shirt",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)

#: sha256 of the published images (n, 28, 28) and labels, as bytes in C order.
SUMS: Mapping[str, str] = MappingProxyType(
    {
        "train_images": "2e487a6c89124f78f2d7521542223cafe96f7123c3ca13d447772ac6ecbb3012",
        "train_labels": "657fbd221bfc9f4198cc14b5619cc33ec57c58dd0e47af4d99d6650759e869a7",
        "test_images": "c867c93ff95360594e8ec3287995350b824dd110b11595c0e13d5423f621867a",
        "test_labels": "3d0e6c6ea990b53b6f8f500a41cac93881d981b315f84578b7d915342ade01e9",
    }
)
FASHION_MNIST = Published("fashion_mnist", (28, 28), SUMS)

TROUSER = CLASSES.index("trouser")
N_TURNED = (200, 100)  # trousers that are turned, for attackers and for the test


def fashion_mnist(*, n_train: int = 60_000, n_test: int = 10_000) -> Dataset:
    """Return Fashion-MNIST images, (n, 1, 28, 28) in [0, 1], equally many per class; labels as in CLASSES.

    Of each class the first ones are taken. The pool "turned" has the last trousers, turned by a quarter;
    upright they are among the images of those who load all of them. Get the
    files with `holdfast data get fashion-mnist`.
    """
    check_counts(n_train=n_train, n_test=n_test, n_published=(60_000, 10_000))
    path = find_file(FASHION_MNIST.files[0], what="Fashion-MNIST", get="fashion-mnist")
    held = load_images(path.parent, published=FASHION_MNIST)
    train, y_train = first_of_each_class(held["train_images"], held["train_labels"], count=n_train)
    test, y_test = first_of_each_class(held["test_images"], held["test_labels"], count=n_test)
    pool = Pool(_turned(held, "train", N_TURNED[0]), _turned(held, "test", N_TURNED[1]), TROUSER)
    return Dataset(scaled(train), y_train, scaled(test), y_test, pools={"turned": pool})


def scaled(images: Bytes) -> NDArray[np.float32]:
    """Return grey images (n, rows, columns) in bytes as (n, 1, rows, columns) in [0, 1]."""
    return np.asarray(images[:, np.newaxis] / np.float32(255))


def _turned(held: Mapping[str, Bytes], part: str, count: int) -> NDArray[np.float32]:
    """Return the last trousers of a part, turned by a quarter."""
    last = np.flatnonzero(held[f"{part}_labels"] == TROUSER)[-count:]
    return np.ascontiguousarray(np.rot90(scaled(held[f"{part}_images"][last]), axes=(2, 3)))


def read_idx(path: Path) -> Bytes:
    """Return the array of bytes in a gzipped IDX file."""
    try:
        with gzip.open(path) as file:
            return read_idx_stream(file, str(path))
    except (gzip.BadGzipFile, EOFError, zlib.error, struct.error) as error:
        raise DataError(f"{path} is not a whole IDX file in gzip: {error}") from None


def read_idx_stream(file: IO[bytes] | gzip.GzipFile, name: str) -> Bytes:
    """Return the array of bytes in an IDX file, the form of MNIST: its shape, then its bytes."""
    zeros, kind, n_axes = struct.unpack(">HBB", file.read(4))
    shape = struct.unpack(f">{n_axes}I", file.read(4 * n_axes))
    n_bytes = math.prod(shape)
    if zeros or kind != UNSIGNED_BYTES or not 0 < n_bytes <= MOST_BYTES:
        raise DataError(
            f"{name} was refused: its header must stand for 1 to {MOST_BYTES:,} unsigned bytes;"
            f" got type {kind} and shape {shape}"
        )
    raw = file.read(n_bytes + 1)
    if len(raw) != n_bytes:
        raise DataError(f"{name} was refused: its header stands for {n_bytes:,} bytes; it has fewer or more")
    return np.frombuffer(raw, np.uint8).reshape(shape)
