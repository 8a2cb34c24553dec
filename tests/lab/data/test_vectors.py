import numpy as np
import pytest

from holdfast.errors import DataError, InputError
from holdfast.lab.data.vectors import word_vectors


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    return tmp_path


def test_arrays_give_the_wanted_words_in_their_order(folder):
    words, vectors = np.array(["the", "good", "day"]), np.arange(6, dtype=np.float16).reshape(3, 2)
    np.savez(folder / "glove6b_2d.npz", words=words, vectors=vectors)
    found = word_vectors("glove-2d", wanted={"day", "the", "zzz"})
    assert found.words == ["the", "day"]
    assert found.vectors.tolist() == [[0, 1], [4, 5]]
    assert found.vectors.dtype == np.float32
    with pytest.raises(DataError, match="has none of the 1 words"):
        word_vectors("glove-2d", wanted={"zzz"})


def test_a_text_file_of_any_dimension_is_read_before_the_package_that_lacks_words(folder):
    np.savez(folder / "glove6b_3d.npz", words=np.array(["the"]), vectors=np.zeros((1, 3)))
    (folder / "glove.6B.3d.txt").write_text("the 1 2 3\n. 4 5 6\n")
    assert word_vectors("glove-3d", wanted={"the", "."}).vectors.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("text", "needed"),
    [("good one two\n", "line 1 of .* must be a word and numbers"), ("bad 1 2\n", "has none of the 1 words")],
)
def test_a_text_file_that_cannot_be_read_is_refused(folder, text, needed):
    (folder / "own.txt").write_text(text)
    with pytest.raises(DataError, match=needed):
        word_vectors("own.txt", wanted={"good"})


def test_words_in_no_script_stop_nobody_who_wants_others(folder):
    (folder / "own.txt").write_bytes(b"\xff\xfe 1 2\ngood 3 4\n")
    assert word_vectors("own.txt", wanted={"good"}).vectors.tolist() == [[3, 4]]


@pytest.mark.parametrize("name", ["glove", "word2vec-100d", "glove-d", "own.bin"])
def test_a_name_of_no_vectors_is_refused(name):
    with pytest.raises(InputError, match=r'vectors must be "glove-100d" or another dimension, .*; got '):
        word_vectors(name, wanted={"good"})


def test_rows_of_unequal_length_are_refused(folder):
    (folder / "own.txt").write_text("good 1 2\nday 1\n")
    with pytest.raises(DataError, match=r"line 2 of .*own\.txt has 1 numbers; others have 2"):
        word_vectors("own.txt", wanted={"good", "day"})
