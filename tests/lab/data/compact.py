"""The compact copy of the data sets that developers share, laid out as the files that loaders read.

    export HOLDFAST_DATA=$(python tests/lab/data/compact.py COMPACT)

CIFAR-10 is decoded once from sheets of 100 x 100 tiles in lossless WebP, vectors of words in tweets get the
names of whole sets, and all else is linked as it is.
"""

import hashlib
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from holdfast._support.atomic import replacing

NAMES = {
    "glove6b_100d_tweets.npz": "glove6b_100d.npz",
    "word2vec_googlenews_300d_tweets.npz": "word2vec_300d.npz",
}
#: What is written last: where it is, all is laid out.
LAST = "cifar10_test_labels.npy"


def lay_out(compact):
    """Return a folder of the cache that holds the data sets of a compact copy; any other folder as it is."""
    if not (compact / "cifar10_test.webp").is_file() or (compact / LAST).is_file():
        return compact
    compact = compact.resolve()
    folder = user_cache_path("holdfast") / f"data-{hashlib.sha256(bytes(compact)).hexdigest()[:8]}"
    folder.mkdir(parents=True, exist_ok=True)
    for path in compact.iterdir():
        with suppress(FileExistsError):
            (folder / NAMES.get(path.name, path.name)).symlink_to(path)
    if not (folder / LAST).is_file():
        from holdfast.lab.data.cifar10 import SUMS
        from holdfast.lab.data.images import check_published

        arrays = decode_sheets(compact)
        check_published(arrays, sums=SUMS)
        for name, array in arrays.items():
            with replacing(folder / f"cifar10_{name}.npy") as file:
                np.save(file, array)
    return folder


def decode_sheets(compact):
    from PIL import Image

    def tiles(name):
        with Image.open(compact / f"cifar10_{name}.webp") as sheet:
            pixels = np.asarray(sheet.convert("RGB"))
        return pixels.reshape(100, 32, 100, 32, 3).swapaxes(1, 2).reshape(-1, 32, 32, 3)

    with np.load(compact / "cifar10_labels.npz") as labels:
        return {
            "train_images": np.concatenate([tiles(f"train_{i}") for i in range(1, 6)]),
            "train_labels": labels["train"],
            "test_images": tiles("test"),
            "test_labels": labels["test"],
        }


if __name__ == "__main__":
    print(lay_out(Path(sys.argv[1])))
