"""The folder of real data, for tests that need it and skip without."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("HOLDFAST_DATA", "nowhere"))


def needs(*names):
    missing = [name for name in names if not (FOLDER / name).exists()]
    return pytest.mark.skipif(bool(missing), reason=f"HOLDFAST_DATA has no {', '.join(missing)}")


CIFAR10 = needs("cifar10_train_images.npy", "southwest_edge_case.npz")
TWEETS = needs("sentiment140_users.csv.gz", "lanthimos_tweets_train.txt", "glove6b_100d.npz")
FASHION = pytest.mark.skipif(
    not Path("/usr/share/datasets/fashion-mnist").is_dir(),
    reason="Debian's package dataset-fashion-mnist is not installed",
)
