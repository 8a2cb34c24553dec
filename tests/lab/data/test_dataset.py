from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.data import Dataset, Pool, standardise


def small(**changes):
    parts = {"x_train": np.eye(4), "y_train": np.arange(4), "x_test": np.ones((2, 4)), "y_test": [0, 3]}
    return Dataset(**{**parts, **changes})


def test_arrays_come_out_in_the_types_that_training_takes():
    data = small()
    assert {data.x_train.dtype, data.x_test.dtype} == {np.dtype(np.float32)}
    assert {data.y_train.dtype, data.y_test.dtype} == {np.dtype(np.int64)}
    assert data.n_classes == 4


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({"y_train": np.arange(3)}, "x_train and y_train must have one length, above 0; got 4 and 3"),
        ({"x_test": np.ones((0, 4)), "y_test": []}, "x_test and y_test must have one length, above 0"),
        ({"x_test": np.ones((2, 5))}, "examples must have one shape"),
        ({"pools": {"p": Pool(np.ones((2, 3)), np.ones((2, 4)), 0)}}, "pool 'p' must have shape"),
        ({"pools": {"p": Pool(np.ones((3, 4)), np.ones((2, 4)), 0, 2)}}, "a multiple of its n_views"),
        ({"pools": {"p": Pool(np.ones((2, 4)), np.ones((0, 4)), 0)}}, "examples to train and to test on"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, needed):
    with pytest.raises(InputError, match=needed):
        small(**changes)


def with_one(value):
    x = np.eye(4)
    x[2, 1] = value
    return x


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        (
            {"x_train": with_one(np.nan)},
            "x_train must hold finite .*; 1 of 4 rows do not, the first .* row 2",
        ),
        ({"x_test": np.full((2, 4), -np.inf)}, "x_test must hold finite .*; 2 of 2 rows"),
        ({"x_train": with_one(1e300)}, "x_train must hold finite numbers that fit float32; 1 of 4"),
        (
            {"pools": {"p": Pool(with_one(np.nan), np.ones((2, 4)), 0)}},
            "pool 'p' must hold finite numbers",
        ),
        ({"x_train": [[1, 2], [3]]}, "x_train must be an array of numbers: .*inhomogeneous"),
        ({"x_train": np.full((4, 4), "a")}, "x_train must be an array of numbers: its type is <U1"),
        ({"x_train": np.eye(4) * 1j}, "x_train must be an array of numbers: its type is complex128"),
        ({"y_train": [[1], [2, 3]]}, "y_train must be an array of numbers: .*inhomogeneous"),
        ({"raw_mean": np.zeros(3)}, r"raw_mean must be one number, or 4, one per feature .* shape \(3,\)"),
        ({"raw_scale": np.zeros(4)}, "raw_scale must not be 0"),
    ],
)
def test_examples_that_are_no_finite_numbers_are_refused_and_told_where(changes, needed):
    with pytest.raises(InputError, match=needed):
        small(**changes)


def test_examples_of_pools_come_out_in_the_type_of_all_examples():
    pool = small(pools={"p": Pool([[0, 1, 2, 3]], np.ones((2, 4), np.uint8), 0)}).pools["p"]
    assert pool.train.dtype == pool.test.dtype == np.float32


@pytest.mark.parametrize("word", [-1.0, 0.5])
def test_words_are_whole_numbers_from_0_on(word):
    with pytest.raises(InputError, match=f"x must be rows of 3 vectors; got {word:g}"):
        Dataset([[word]], [0], [[1.0]], [0], vectors=np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("labels", "needed"),
    [
        (np.arange(4) / 4, "y_train must be whole numbers from 0 on; 3 of 4 are not, such as 0.25"),
        ([0.0, 1.0, np.nan, 2.0], "1 of 4 are not, such as nan"),
        ([0.0, 1.0, np.inf, 2.0], "1 of 4 are not, such as inf"),
        ([0, 1, -1, 2], "1 of 4 are not, such as -1"),
        (["0", "1", "2", "3"], "one whole number per example, its label; got an array of shape .* type <U1"),
        (np.eye(4), r"one whole number per example, its label; got an array of shape \(4, 4\)"),
        (None, "one whole number per example"),
    ],
)
def test_labels_that_are_no_whole_numbers_are_refused_and_never_rounded(labels, needed):
    with pytest.raises(InputError, match=needed):
        small(y_train=labels)


@pytest.mark.parametrize("kind", [float, np.float32, np.uint8, np.uint64])
def test_whole_labels_may_be_of_any_type_of_number(kind):
    assert small(y_train=np.arange(4).astype(kind)).checksum == small().checksum
    assert small(y_train=np.array([True, False, False, True])).y_train.tolist() == [1, 0, 0, 1]


def test_the_checksum_sees_every_number():
    data = small(pools={"p": Pool(np.ones((2, 4)), np.ones((2, 4)), 1)})
    changed = [
        replace(data, x_train=2 * data.x_train),
        replace(data, y_test=np.array([0, 2])),
        replace(data, raw_scale=np.full(1, 2.0)),
        replace(data, pools={"p": Pool(np.ones((2, 4)), np.ones((2, 4)), 2)}),
        replace(data, pools={"p": Pool(np.zeros((2, 4)), np.ones((2, 4)), 1)}),
    ]
    sums = [data.checksum, *(other.checksum for other in changed)]
    assert len(set(sums)) == len(sums)
    assert replace(data).checksum == data.checksum


def test_standardised_features_lead_back_to_raw_values():
    raw = np.random.default_rng(0).normal(3, 5, size=(50, 3))
    raw[:, 2] = 7.0
    data = standardise(raw[:40], np.zeros(40), raw[40:], np.zeros(10))
    np.testing.assert_allclose(data.x_train.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(data.x_train[:, :2].std(axis=0), 1, rtol=1e-5)
    np.testing.assert_allclose(data.x_test * data.raw_scale + data.raw_mean, raw[40:], rtol=1e-5)


def test_word_vectors_count_in_the_checksum_and_must_have_a_row_for_every_word():
    x, y = np.array([[1.0, 2.0]]), np.array([0])
    plain, with_zeros, with_ones = (
        Dataset(x, y, x, y, vectors=vectors) for vectors in (None, np.zeros((3, 2)), np.ones((3, 2)))
    )
    assert len({plain.checksum, with_zeros.checksum, with_ones.checksum}) == 3
    with pytest.raises(InputError, match="x must be rows of 2 vectors; got 2"):
        Dataset(x, y, x, y, vectors=np.zeros((2, 2)))
