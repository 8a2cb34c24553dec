"""Word vectors: GloVe, word2vec or others, from arrays or from text files, as far as they are wanted."""

import re
from collections.abc import Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._support.printable import printable
from ...errors import DataError, InputError
from .folders import data_folder, find_file, load_arrays

__all__ = ["WordVectors", "has_vectors", "word_vectors"]


class WordVectors(NamedTuple):
    """Words and their vectors, one per row."""

    words: list[str]
    vectors: NDArray[np.float32]


def word_vectors(name: str, *, wanted: Set[str]) -> WordVectors:
    """Return the vectors of the wanted words that there are, in the file's order.

    "glove-100d" or another dimension is GloVe 6B (Pennington et al., 2014), "word2vec-300d" GoogleNews
    (Mikolov et al., 2013). Any other name is a file in the data folder: a .txt in GloVe's form, or an .npz of
    the arrays `words` and `vectors`.
    """
    get = "word2vec" if name == "word2vec-300d" else "glove"
    path = find_file(*_files(name), what="word vectors", get=get)
    words, rows = _from_text(path, wanted) if path.suffix == ".txt" else _from_arrays(path, wanted)
    if not words:
        raise DataError(f"{path} has none of the {len(wanted)} words that are wanted")
    return WordVectors(words, np.array(rows, dtype=np.float32))


def has_vectors(name: str) -> bool:
    """Return whether the data folder holds these vectors."""
    return any((data_folder() / file).is_file() for file in _files(name))


def _files(name: str) -> tuple[str, ...]:
    """Return the files that may hold these vectors, best first."""
    if name.endswith((".txt", ".npz")):
        return (name,)
    if name == "word2vec-300d":
        return ("word2vec_300d.npz",)
    if glove := re.fullmatch(r"glove-(\d+)d", name):
        dim = glove[1]
        return f"glove.6B.{dim}d.txt", f"glove6b_{dim}d.npz"
    raise InputError(
        'vectors must be "glove-100d" or another dimension, "word2vec-300d" or the name of a .txt or .npz'
        f" file; got {name!r}"
    )


def _from_arrays(path: Path, wanted: Set[str]) -> tuple[list[str], NDArray[Any]]:
    words, vectors = load_arrays(path, "words", "vectors")
    rows = [row for row, word in enumerate(words.tolist()) if word in wanted]
    return words[rows].tolist(), vectors[rows]


def _from_text(path: Path, wanted: Set[str]) -> tuple[list[str], list[NDArray[np.float32]]]:
    words: list[str] = []
    rows: list[NDArray[np.float32]] = []
    with path.open(encoding="utf-8", errors="replace") as file:  # a word in no script is wanted by nobody
        for number, line in enumerate(file, start=1):
            word, _, numbers = line.rstrip("\n").partition(" ")
            if word not in wanted:
                continue
            try:
                row = np.array(numbers.split(), dtype=np.float32)
            except ValueError as error:
                raise DataError(
                    f"line {number} of {path} must be a word and numbers: {printable(error)}"
                ) from None
            if rows and len(row) != len(rows[0]):
                raise DataError(f"line {number} of {path} has {len(row)} numbers; others have {len(rows[0])}")
            words.append(word)
            rows.append(row)
    return words, rows
