"""Real tables: phishing URLs and spam mail from the data folder, and any other CSV of numbers."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..._support.printable import printable
from ...errors import DataError, InputError
from .dataset import Dataset, standardise
from .folders import find_file

__all__ = ["phishing_urls", "spambase", "table"]


def phishing_urls(*, test_share: float = 0.2, seed: int = 2024) -> Dataset:
    """Return 10,000 web addresses and pages as 48 features; label 1 is phishing.

    Chiew, 2018, Phishing Dataset for Machine Learning: Feature Evaluation, Mendeley Data, CC BY 4.0.
    """
    what = "Phishing_Legitimate_full of Mendeley Data, Chiew 2018"
    path = find_file("phishing_legitimate_48.csv", what=what, get="phishing-urls")
    return table(str(path), label="CLASS_LABEL", drop=("id",), test_share=test_share, seed=seed)


def spambase(*, test_share: float = 0.2, seed: int = 2024) -> Dataset:
    """Return 4,601 mails as 57 frequencies of words and characters; label 1 is spam.

    Hopkins et al., 1999, Spambase, UCI Machine Learning Repository, CC BY 4.0.
    """
    what = "Spambase of the UCI Machine Learning Repository, with a header"
    path = find_file("spambase_57.csv", what=what, get="spambase")
    return table(str(path), label="is_spam", test_share=test_share, seed=seed)


def table(
    path: str, *, label: str, drop: tuple[str, ...] = (), test_share: float = 0.2, seed: int = 2024
) -> Dataset:
    """Return a real table, a CSV of a header and numbers, shuffled and split; `label` names its column.

    >>> table("nowhere.csv", label="is_spam")
    Traceback (most recent call last):
    holdfast.errors.DataError: no table at nowhere.csv
    """
    if not 0 < test_share < 1:
        raise InputError(f"test_share must be between 0 and 1; got {test_share!r}")
    header, numbers = _read(path)
    missing = [name for name in (label, *drop) if name not in header]
    if missing:
        raise DataError(f"{path} has no column {', '.join(missing)}; it has {printable(', '.join(header))}")
    columns = [i for i, name in enumerate(header) if name not in (label, *drop)]
    x, y = numbers[:, columns], numbers[:, header.index(label)].astype(np.int64)
    order = np.random.default_rng(seed).permutation(len(y))
    n_test = round(test_share * len(y))
    test, train = order[:n_test], order[n_test:]
    return standardise(x[train], y[train], x[test], y[test])


def _read(path: str) -> tuple[list[str], NDArray[np.float64]]:
    """Return the header and the numbers of a CSV."""
    if not Path(path).is_file():
        raise DataError(f"no table at {path}")
    try:
        with open(path, encoding="utf-8") as file:
            names, *rows = [line for line in file if line.strip()] or [""]
        if len(rows) < 2:
            raise DataError(f"{path} needs a header and at least two rows; it has {len(rows)} rows")
        header = next(csv.reader([names]))
        numbers = np.loadtxt(rows, delimiter=",", quotechar='"', comments=None, ndmin=2)
    except (ValueError, csv.Error) as error:
        why = printable(error, limit=200)
        raise DataError(f"{path} must hold rows of numbers, all of one length: {why}") from None
    if numbers.shape[1] != len(header) or not np.isfinite(numbers).all():
        raise DataError(
            f"{path} must hold finite numbers, one per name in its header; it has {len(header)} names and"
            f" {numbers.shape[1]} columns"
        )
    return header, numbers
