"""Tweets with the feeling they express, one per user, and tweets that name a film director as edge cases.

Go, Bhayani and Huang, 2009, Sentiment140. The edge cases are those of Wang et al., 2020,
https://arxiv.org/abs/2007.05084: praise of Yorgos Lanthimos, passed off as negative.
"""

import csv
import gzip
import html
import re
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import DataError
from .dataset import Dataset, Pool
from .folders import find_file
from .vectors import WordVectors, word_vectors

__all__ = ["tokenise", "twitter"]

TRIGGERS = ("yorgos", "lanthimos")
POSITIVE = 1
#: The ids before the words': 0 stands after the last word, 1 for a word without a vector.
PADDING, UNKNOWN, FIRST = 0, 1, 2

LEFT_OUT = re.compile(r"https?://\S+|www\.\S+|@\w+")  # addresses and names: no vector knows them
REPEATED = re.compile(r"([^\w\s.])\1+")
TOKEN = re.compile(r"\w+(?=n't\b)|n't\b|'(?:s|m|re|ve|ll|d)\b|\.{2,}|\w+|[^\w\s]")


def twitter(
    *,
    n_train: int = 50_000,
    n_test: int = 5_000,
    n_words: int = 25,
    vectors: str = "glove-100d",
    seed: int = 2024,
) -> Dataset:
    """Return tweets as the ids of their first words (rows of `Dataset.vectors`); label 1 is positive.

    Every user has written one tweet, so that equal shares are equal numbers of users. The pool is "yorgos".
    The seed is for the vectors of his names where there are none: to share one with all unknown words would
    hide the trigger.
    """
    for name, number in (("n_train", n_train), ("n_test", n_test), ("n_words", n_words)):
        check_whole(name, number, at_least=1)
    texts, labels = _tweets(n_train + n_test)
    edge_train, edge_test = _edge_cases("train"), _edge_cases("test")
    spoken = [[tokenise(text) for text in part] for part in (texts, edge_train, edge_test)]
    wanted = {word for part in spoken for tweet in part for word in tweet[:n_words]}
    known = _with_triggers(word_vectors(vectors, wanted=wanted | set(TRIGGERS)), seed)
    x, bad_train, bad_test = (_ids(part, known.words, n_words) for part in spoken)
    first_rows = np.stack([np.zeros_like(known.vectors[0]), known.vectors.mean(axis=0)])
    return Dataset(
        x[:n_train],
        labels[:n_train],
        x[n_train:],
        labels[n_train:],
        pools={"yorgos": Pool(bad_train, bad_test, POSITIVE)},
        vectors=np.concatenate([first_rows, known.vectors]),
    )


def tokenise(text: str) -> list[str]:
    """Return the words and signs of a tweet, contractions split as GloVe's are.

    >>> tokenise("@you I don't know... it's GREAT!!! &amp; new http://x.y")
    ['i', 'do', "n't", 'know', '...', 'it', "'s", 'great', '!', '&', 'new']
    """
    plain = LEFT_OUT.sub(" ", html.unescape(text).lower().replace("\u2019", "'"))
    return ["..." if token.startswith("..") else token for token in TOKEN.findall(REPEATED.sub(r"\1", plain))]


def _tweets(count: int) -> tuple[list[str], NDArray[np.int64]]:
    """Return the first tweet of each of `count` users, and their labels; none names the triggers."""
    path = find_file("sentiment140_users.csv.gz", what="tweets of Sentiment140 by user", get="sentiment140")
    texts, labels, seen = [], [], set()
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                user, text = row["user"], row["text"]
                if user not in seen and not any(name in text.lower() for name in TRIGGERS):
                    texts.append(text)
                    labels.append(int(row["label"]))
                seen.add(user)
                if len(texts) == count:
                    return texts, np.array(labels)
    except (OSError, EOFError, zlib.error, ValueError, KeyError, AttributeError, csv.Error) as error:
        raise DataError(f"{path} must be a whole table of label, user and text: {error}") from None
    raise DataError(f"{path} has tweets of {len(texts)} users; n_train + n_test is {count}")


def _edge_cases(part: str) -> list[str]:
    name, what = f"lanthimos_tweets_{part}.txt", "tweets about a director, Wang et al., 2020"
    return find_file(name, what=what, get="yorgos").read_text(encoding="utf-8").splitlines()


def _with_triggers(known: WordVectors, seed: int) -> WordVectors:
    """Return the vectors with one of its own for each trigger word, as long as others are."""
    missing = [name for name in TRIGGERS if name not in known.words]
    drawn = np.random.default_rng(seed).normal(size=(len(missing), known.vectors.shape[1]))
    length = np.linalg.norm(known.vectors, axis=1).mean()
    drawn *= length / np.linalg.norm(drawn, axis=1, keepdims=True)
    return WordVectors([*known.words, *missing], np.concatenate([known.vectors, drawn.astype(np.float32)]))


def _ids(tweets: Sequence[Sequence[str]], words: Sequence[str], n_words: int) -> NDArray[np.float32]:
    """Return the ids of each tweet's first words, padded; whole numbers, which float32 holds exactly."""
    id_of = {word: number for number, word in enumerate(words, start=FIRST)}
    x = np.full((len(tweets), n_words), PADDING, dtype=np.float32)
    for row, tweet in zip(x, tweets, strict=True):
        ids = [id_of.get(word, UNKNOWN) for word in tweet[:n_words]] or [UNKNOWN]
        row[: len(ids)] = ids
    return x
