"""Images as arrays of bytes, in four files: images and labels, to train and to test on."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._support.arrays import UNREADABLE
from ..._support.counting import check_whole
from ...errors import DataError, InputError

__all__ = [
    "PARTS",
    "Bytes",
    "Published",
    "check_counts",
    "check_published",
    "first_of_each_class",
    "load_images",
    "save_images",
]

Bytes = NDArray[np.uint8]

N_CLASSES = 10
PARTS = ("train_images", "train_labels", "test_images", "test_labels")


class Published(NamedTuple):
    """Images that were published: the first word of their files, the shape of one, and sha256 by array."""

    prefix: str
    shape: tuple[int, ...]
    sums: Mapping[str, str]

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the four files.

        >>> Published("cifar10", (32, 32, 3), {}).files[0]
        'cifar10_train_images.npy'
        """
        return tuple(f"{self.prefix}_{part}.npy" for part in PARTS)


def save_images(arrays: Mapping[str, Bytes], folder: Path, *, published: Published) -> None:
    """Write the four arrays into a folder, if they are those that were published."""
    check_published(arrays, sums=published.sums)
    for part, name in zip(PARTS, published.files, strict=True):
        np.save(folder / name, arrays[part])


def load_images(folder: Path, *, published: Published) -> dict[str, Bytes]:
    """Return the four arrays, mapped from their files."""
    held: dict[str, Bytes] = {}
    for part, name in zip(PARTS, published.files, strict=True):
        try:
            held[part] = np.load(folder / name, mmap_mode="r", allow_pickle=False)
        except UNREADABLE as error:
            raise DataError(f"{folder / name} must hold an array: {error}; get it again") from None
    for images, labels in (PARTS[:2], PARTS[2:]):
        x, y = held[images], held[labels]
        are_bytes = x.dtype == y.dtype == np.uint8
        if not are_bytes or y.ndim != 1 or x.shape != (len(y), *published.shape) or (y >= N_CLASSES).any():
            raise DataError(
                f"{published.prefix}_{images}.npy in {folder} must be bytes of shape"
                f" {('n', *published.shape)}, and its labels n bytes below {N_CLASSES}; got {x.dtype}"
                f" {x.shape} and {y.dtype} {y.shape}: get them again"
            )
    return held


def check_published(arrays: Mapping[str, Bytes], *, sums: Mapping[str, str]) -> None:
    """Raise unless the arrays are, bit for bit, those that were published: sha256 of the bytes in C order."""
    for name, array in arrays.items():
        if (digest := hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()) != sums[name]:
            raise DataError(
                f"{name} of shape {array.shape} are not those that were published: their sha256 is"
                f" {digest[:8]}..., and should be {sums[name][:8]}...; the file is damaged or another one:"
                " get it again"
            )


def check_counts(*, n_train: int, n_test: int, n_published: tuple[int, int]) -> None:
    """Raise unless there are so many images, as many of each class."""
    for name, count, most in (("n_train", n_train, n_published[0]), ("n_test", n_test, n_published[1])):
        check_whole(name, count, at_least=N_CLASSES, at_most=most)
        if count % N_CLASSES:
            raise InputError(f"{name} must be a multiple of {N_CLASSES}, as many of each class; got {count}")


def first_of_each_class(images: Bytes, labels: Bytes, *, count: int) -> tuple[Bytes, Bytes]:
    """Return the first images of each class, `count` in all, in their own order, and their labels.

    >>> images, labels = np.arange(40), np.repeat(np.arange(10), 4)
    >>> first_of_each_class(images, labels, count=10)[0]
    array([ 0,  4,  8, 12, 16, 20, 24, 28, 32, 36])
    """
    if count == len(labels):
        return images, labels
    of_class = [np.flatnonzero(labels == label)[: count // N_CLASSES] for label in range(N_CLASSES)]
    where = np.sort(np.concatenate(of_class))
    if len(where) != count:
        raise DataError(f"there are no {count // N_CLASSES} images of every class among these {len(labels)}")
    return images[where], labels[where]
