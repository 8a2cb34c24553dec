"""Word vectors: GloVe and word2vec, from arrays or from text files, as far as they are wanted."""

import re
from collections.abc import Set
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, InputError
from .arrays import arrays_in
from .folders import VARIABLE, data_folder, found

__all__ = ["WordVectors", "word_vectors"]


class WordVectors(NamedTuple):
    """Words and the vector of each, one a row."""

    words: list[str]
    vectors: NDArray[np.float32]


def word_vectors(name: str, *, wanted: Set[str]) -> WordVectors:
    """Return the vectors of the wanted words that there are, in the file's order.

    "glove-100d" or another dimension is GloVe 6B (Pennington et al., 2014), "word2vec-300d" GoogleNews
    (Mikolov et al., 2013); a name with .txt is a text file in GloVe's form, in the data folder.

    >>> word_vectors("glove", wanted={"good"})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.InputError: vectors must be "glove-100d" or another dimension, "word2vec-300d" or ...
    """
    names = _files(name)
    path = next((path for path in map(found, names) if path), None)
    if path is None:
        raise DataError(
            f"none of {', '.join(names)} in {data_folder()}: get it with 'holdfast data get glove', or set"
            f" {VARIABLE} to a folder that holds one"
        )
    return _from_text(path, wanted) if path.suffix == ".txt" else _from_arrays(path, wanted)


def _files(name: str) -> tuple[str, ...]:
    """Return the files that may hold these vectors, best first."""
    if name.endswith(".txt"):
        return (name,)
    if name == "word2vec-300d":
        return ("word2vec_googlenews_300d_tweets.npz",)
    if glove := re.fullmatch(r"glove-(\d+)d", name):
        dim = glove[1]
        return f"glove6b_{dim}d_tweets.npz", f"glove.6B.{dim}d.txt", f"glove6b_{dim}d.npz"
    raise InputError(
        'vectors must be "glove-100d" or another dimension, "word2vec-300d" or the name of a .txt file;'
        f" got {name!r}"
    )


def _from_arrays(path: Path, wanted: Set[str]) -> WordVectors:
    words, vectors = arrays_in(path, "words", "vectors")
    rows = [row for row, word in enumerate(words.tolist()) if word in wanted]
    if not rows:
        raise DataError(f"{path} has none of the {len(wanted)} words that are wanted")
    return WordVectors(words[rows].tolist(), vectors[rows].astype(np.float32))


def _from_text(path: Path, wanted: Set[str]) -> WordVectors:
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            word, _, numbers = line.rstrip("\n").partition(" ")
            if word not in wanted:
                continue
            try:
                row = np.array(numbers.split(), dtype=np.float32)
            except ValueError as error:
                raise DataError(f"line {number} of {path} must be a word and numbers: {error}") from None
            if rows and len(row) != len(rows[0]):
                raise DataError(f"line {number} of {path} has {len(row)} numbers; others have {len(rows[0])}")
            words.append(word)
            rows.append(row)
    if not rows:
        raise DataError(f"{path} has none of the {len(wanted)} words that are wanted")
    return WordVectors(words, np.array(rows))
