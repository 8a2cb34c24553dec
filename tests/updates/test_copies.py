"""Who sent the same numbers, against a comparison of everything with everything."""

import ml_dtypes
import numpy as np
import pytest

from holdfast.defending.screening import fitting
from holdfast.updates import rows_of
from holdfast.updates.copies import CopiedRows, find_copies
from holdfast.updates.layout import Unfit
from holdfast.updates.rows import CELL, Rows


def compared_by_hand(rows):
    """Compare whole rows as the rules read them, and the base as one more row."""
    models = Rows(rows.layout, rows.arrays).block(0, rows.dim)
    base = (
        np.zeros_like(models[:1]) if rows.base is None else Rows(rows.layout, (rows.base,)).block(0, rows.dim)
    )
    groups = {}
    for row, numbers in enumerate(models):
        groups.setdefault(numbers.tobytes(), []).append(row)
    unchanged = groups.pop(base.tobytes(), [])
    return CopiedRows(tuple(tuple(group) for group in groups.values() if len(group) > 1), tuple(unchanged))


def a_matrix(n=12, dim=300, seed=0, dtype=np.float32):
    """Rows 2, 5 and 9 are the same, and so are 3 and 4; row 7 holds zeros."""
    matrix = np.random.default_rng(seed).normal(size=(n, dim)).astype(dtype)
    matrix[[5, 9]], matrix[4], matrix[7] = matrix[2], matrix[3], 0
    return matrix


EXPECTED = CopiedRows(((2, 5, 9), (3, 4)), (7,))


def layers_of(row):
    return [row[:60].reshape(3, 20).T.copy().T, row[60:60], row[60:61].reshape(()), row[61:]]


@pytest.mark.parametrize(
    "form",
    [
        lambda m: m,
        np.asfortranarray,
        lambda m: m.astype(">f4"),
        lambda m: np.repeat(m, 2, axis=1)[:, ::2],
        lambda m: [layers_of(row) for row in m],
        lambda m: [layers_of(row if number % 2 else row.astype(np.float64)) for number, row in enumerate(m)],
    ],
    ids=["rows", "columns", "other byte order", "strided", "layers", "two precisions"],
)
def test_copies_are_found_in_every_form(form):
    rows = rows_of(form(a_matrix()))
    assert find_copies(rows) == compared_by_hand(rows) == EXPECTED


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_models_are_compared_with_each_other_and_with_the_base(dtype):
    base = np.linspace(1, 2, 300).astype(dtype)
    models = [base + row for row in a_matrix(dtype=dtype)]
    rows = fitting(models, base=base).rows
    assert find_copies(rows) == compared_by_hand(rows) == EXPECTED


def test_a_copy_in_another_precision_is_one_if_it_is_rounded_to_the_same_numbers():
    own = np.random.default_rng(0).normal(size=50).astype(np.float32)
    finer = own.astype(np.float64)
    near = finer * (1 + 2.0**-40)  # another number in float64, the same in float32
    like = np.zeros(50, np.float32)
    assert find_copies(fitting([own, finer, near], like=like).rows).groups == ((0, 1, 2),)
    assert find_copies(fitting([own, finer, near], like=like.astype(float)).rows).groups == ((0, 1),)


@pytest.mark.parametrize("dim", [1, 63, 64, 65, CELL, CELL + 1, 3 * CELL + 77])
def test_one_number_makes_rows_different_wherever_it_is(dim):
    rng = np.random.default_rng(dim)
    own = rng.normal(size=dim)
    for place in {0, dim - 1, *rng.integers(dim, size=6).tolist()}:
        other, zeros = own.copy(), np.zeros(dim)
        other[place] = np.nextafter(own[place], 9)
        zeros[place] = 5e-324
        assert find_copies(rows_of(np.stack([own, own, other, zeros]))) == CopiedRows(((0, 1),), ())


def test_frozen_parts_hide_no_difference_and_make_no_copies():
    frozen = np.ones((6, 4 * CELL), np.float32)
    heads = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
    heads[4], heads[5] = heads[1], 1
    base = [np.ones(4 * CELL, np.float32), np.ones(3, np.float32)]
    for order in (1, -1):
        models = [[body, head][::order] for body, head in zip(frozen, heads, strict=True)]
        assert find_copies(fitting(models, base=base[::order]).rows) == CopiedRows(((1, 4),), (5,))


def test_rows_that_are_not_finite_are_compared_by_their_bits():
    rows = np.full((5, 20), np.nan)
    rows[2, 3], rows[3], rows[4] = 1.0, np.inf, np.inf
    assert find_copies(rows_of(rows)) == CopiedRows(((0, 1), (3, 4)), ())


def test_of_thousands_all_copies_are_found():
    matrix = np.random.default_rng(0).normal(size=(5000, 40)).astype(np.float32)
    matrix[1::2] = matrix[1]
    assert find_copies(rows_of(matrix)) == CopiedRows((tuple(range(1, 5000, 2)),), ())
    assert find_copies(rows_of(np.zeros((5000, 40)))) == CopiedRows((), tuple(range(5000)))


class Counted:
    """Numbers that lie elsewhere, and how many of them were read."""

    def __init__(self, values, *, most=None):
        self.values, self.shape, self.dtype = values, values.shape, values.dtype
        self.n_read, self.most = 0, most

    def read(self, start, out):
        self.n_read += out.size
        if self.most is not None and self.n_read > self.most:
            raise Unfit("fewer bytes than when it was opened")
        out[:] = self.values[start : start + out.size]


def stored(matrix, **more):
    rows = rows_of(matrix)
    tensors = [Counted(row, **(more if number == 2 else {})) for number, row in enumerate(matrix)]
    return Rows(rows.layout, tuple((tensor,) for tensor in tensors)), tensors


def test_of_files_that_differ_one_cell_is_read_and_of_copies_every_cell():
    matrix = np.random.default_rng(0).normal(size=(5, 4 * CELL)).astype(np.float32)
    matrix[3] = matrix[1]
    rows, tensors = stored(matrix)
    assert find_copies(rows).groups == ((1, 3),)
    assert [tensor.n_read for tensor in tensors[::2]] == [CELL] * 3
    assert tensors[1].n_read == tensors[3].n_read == 4 * CELL


@pytest.mark.parametrize("most", [0, CELL, 3 * CELL])
def test_a_file_that_breaks_off_is_no_copy(most):
    rows, _ = stored(np.tile(np.arange(1.0, 4 * CELL + 1), (4, 1)), most=most)
    assert find_copies(rows).groups == ((0, 1, 3),)
