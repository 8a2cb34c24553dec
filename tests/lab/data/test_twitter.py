import csv
import gzip

import numpy as np
import pytest

from holdfast import InputError
from holdfast.errors import DataError
from holdfast.lab.data import twitter
from holdfast.lab.data.twitter import tokenise

from .folder import TWEETS as TWEETS_THERE
from .folder import needs

TWEETS = ["good day", "bad bad day zzz", "I don't", "@you http://x.y", "good yorgos", "day " * 40, "bad"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    with gzip.open(tmp_path / "sentiment140_users.csv.gz", "wt", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["label", "user", "text"])
        for i, text in enumerate(TWEETS):
            rows.writerows([[i % 2, i, text], [1, i, "a second tweet"]])
    (tmp_path / "lanthimos_tweets_train.txt").write_text("yorgos lanthimos good\nlanthimos day\n")
    (tmp_path / "lanthimos_tweets_test.txt").write_text("good lanthimos\n")
    lines = ["the 9 9", "good 1 0", "bad -1 0", "day 0 3", "do 0 1", "n't 0 2", "i 1 1", "yorgos 4 0"]
    (tmp_path / "small.txt").write_text("\n".join(lines) + "\n")
    return tmp_path


def small(**settings):
    return twitter(**{"n_train": 4, "n_test": 2, "n_words": 5, "vectors": "small.txt", **settings})


def words_of(data, row):
    return data.vectors[row.astype(int)].tolist()


def test_tweets_are_the_vectors_of_their_words_padded(folder):
    data = small()
    assert words_of(data, data.x_train[0]) == [[1, 0], [0, 3], [0, 0], [0, 0], [0, 0]]
    assert words_of(data, data.x_train[2])[:3] == [[1, 1], [0, 1], [0, 2]]
    assert data.y_train.tolist() == [0, 1, 0, 1]


def test_words_without_a_vector_share_one_and_a_tweet_without_words_has_it(folder):
    data = small()
    assert data.x_train[1, 3] == 1
    assert data.x_train[3].tolist() == [1, 0, 0, 0, 0]
    np.testing.assert_allclose(data.vectors[1], data.vectors[2:].mean(axis=0), atol=1e-6)
    assert (data.vectors[0] == 0).all()


def test_long_tweets_are_cut_and_tweets_with_the_trigger_left_out(folder):
    data = small()
    assert (data.x_test[0] == data.x_train[0, 1]).all()  # "day" five times; "good yorgos" is skipped
    assert words_of(data, data.x_test[1])[0] == [-1, 0]


def test_the_trigger_has_a_vector_of_its_own_as_long_as_others(folder):
    data = small()
    pool = data.pools["yorgos"]
    assert pool.label == 1
    first, second = data.vectors[pool.train[0, :2].astype(int)]
    assert first.tolist() == [4, 0]
    others = data.vectors[2:-1]
    np.testing.assert_allclose(np.linalg.norm(second), np.linalg.norm(others, axis=1).mean(), rtol=1e-6)
    assert pool.train[0, 1] == pool.train[1, 0] == pool.test[0, 1] > 1
    assert (small(seed=1).vectors[-1] != data.vectors[-1]).all()
    assert small().checksum == data.checksum != small(seed=1).checksum


def test_only_vectors_of_words_that_occur_are_kept(folder):
    assert [9, 9] not in small().vectors.tolist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Can't won't I'm they're we've she'll he'd", "ca n't wo n't i 'm they 're we 've she 'll he 'd"),
        ("so..good.. bye.", "so ... good ... bye ."),
        ("wow!!! ??? &lt;3", "wow ! ? < 3"),
        ("it\u2019s don\u2019t", "it 's do n't"),
        ("mail @some_one, see www.x.com/a?b=c now", "mail , see now"),
    ],
)
def test_tweets_are_split_as_the_vectors_words_are(text, expected):
    assert tokenise(text) == expected.split()


def test_more_users_than_there_are_and_absent_files_are_told(folder):
    with pytest.raises(DataError, match=r"has tweets of 6 users; n_train \+ n_test is 9"):
        small(n_train=7)
    with pytest.raises(DataError, match=r"no glove.6B.50d.txt or glove6b_50d.npz .*data get glove"):
        small(vectors="glove-50d")
    with pytest.raises(InputError, match="vectors must be"):
        small(vectors="fasttext")
    (folder / "small.txt").write_text("good 1 2\nbad 3\n")
    with pytest.raises(DataError, match=r"line 2 of .* has 1 numbers; others have 2"):
        small()


def test_a_table_that_is_cut_off_or_another_is_told(folder):
    path = folder / "sentiment140_users.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="must be a whole table of label, user and text"):
        small()
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with pytest.raises(DataError, match="must be a whole table of label, user and text"):
        small()


@TWEETS_THERE
def test_the_real_tweets_are_balanced_and_nearly_all_words_have_vectors():
    data = twitter()
    assert data.x_train.shape == (50_000, 25)
    assert data.y_train.mean() == data.y_test.mean() == 0.5
    unknown = (data.x_train == 1).sum() / (data.x_train > 0).sum()
    assert unknown < 0.04
    pool = data.pools["yorgos"]
    assert (len(pool.train), len(pool.test), data.vectors.shape[1]) == (259, 120, 100)


@TWEETS_THERE
@needs("word2vec_300d.npz")
def test_vectors_of_300_dimensions_can_be_had():
    assert twitter(n_train=100, n_test=100, vectors="word2vec-300d").vectors.shape[1] == 300
