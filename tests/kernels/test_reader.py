import numpy as np
import pytest

from holdfast import kernels
from holdfast.defending.screening import fitting
from holdfast.kernels._reader import Reader
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

DIM = CELL + 300


def unaligned(row):
    raw = np.empty(row.nbytes + 1, dtype=np.uint8)
    shifted = raw[1:].view(row.dtype)
    shifted[:] = row
    return shifted


ODD = {
    "strided": lambda row: np.repeat(row, 3)[::3],
    "reversed": lambda row: row[::-1].copy()[::-1],
    "big endian": lambda row: row.astype(">f4"),
    "unaligned": unaligned,
    "in place": np.copy,
    "read only": lambda row: np.frombuffer(row.tobytes(), row.dtype),
}


@pytest.mark.parametrize("kind", ODD)
def test_rows_are_read_right_wherever_they_lie(kind):
    rows = np.random.default_rng(0).normal(size=(5, DIM)).astype(np.float32)
    odd = [*rows[:3], *(ODD[kind](row) for row in rows[3:])]
    assert Reader.of(rows_of(odd)).is_in_place is (kind in ("in place", "read only"))
    expected = kernels.trimmed_mean(rows_of(rows), n_trimmed=1).update
    np.testing.assert_array_equal(kernels.trimmed_mean(rows_of(odd), n_trimmed=1).update, expected)
    based = fitting(odd, base=ODD[kind](rows[0])).rows
    np.testing.assert_array_equal(
        kernels.trimmed_mean(based, n_trimmed=1).update,
        kernels.trimmed_mean(rows_of(rows - rows[0]), n_trimmed=1).update,
    )


def test_transposed_layers_are_copied_a_piece_at_a_time():
    layers = [[np.random.default_rng(i).normal(size=(40, 1000)).T, np.ones(0), np.ones(7)] for i in range(4)]
    flat = np.array([np.concatenate([part.reshape(-1) for part in client]) for client in layers])
    reader = Reader.of(rows_of(layers))
    assert reader.scattered == ((0, 0), (0, 1), (0, 2), (0, 3))
    _, copies = reader.at(0, 100)
    assert [copy.size for copy in copies] == [100] * 4
    _, copies = reader.at(40_000, 40_007)
    assert copies == []
    np.testing.assert_array_equal(kernels.gram(rows_of(layers)), kernels.gram(rows_of(flat)))
