"""The checksum against a slow twin in whole numbers, and against those who change a bit."""

from itertools import pairwise

import numpy as np
import pytest

from holdfast.kernels.digests import WORDS, Key, are_as_known, read_as_known
from holdfast.updates.pieces import InFile
from holdfast.updates.rows import CELL


def digest(values, key):
    """The checksum of at most a cell of numbers, as it is filled in."""
    known = np.zeros(1, np.uint64)
    assert are_as_known(values, 0, first=0, last=values.size, known=known, key=key)
    return int(known[0])


def slow_digest(raw, key):
    words, factors = ([int(word) for word in part] for part in key)
    n_whole = len(raw) // 8 * 8
    sent = [int.from_bytes(raw[at : at + 8], "little") for at in range(0, n_whole, 8)]

    def halves(word, moved_by):
        moved = (word + moved_by) % 2**64
        return (moved % 2**32) * (moved >> 32)

    total = halves(int.from_bytes(raw[n_whole:], "little"), words[0]) * factors[-1]
    for at, word in enumerate(sent):
        total += halves(word, words[at % WORDS]) * factors[at // WORDS]
    return total % 2**64 or 1


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("size", [1, 3, 4, 1000, 1023, 5000, CELL])
def test_the_checksum_is_that_of_the_slow_twin_wherever_the_numbers_lie(dtype, size):
    key = Key.new()
    bits = np.random.default_rng(size).integers(0, 2**16, 4 * CELL + 40, dtype=np.uint16)
    for shift in (0, 1, 2, 3):
        values = bits.view(dtype)[shift : shift + size]
        assert digest(values, key) == slow_digest(values.tobytes(), key)


def test_any_changed_bit_changes_the_checksum():
    key, rng = Key.new(), np.random.default_rng(0)
    values = rng.standard_normal(CELL - 3).astype(np.float32)
    before, bits = digest(values, key), values.view(np.uint32)
    for at in [0, 1, CELL - 4, *rng.integers(0, CELL - 3, 200).tolist()]:
        bit = np.uint32(1 << rng.integers(32))
        bits[at] ^= bit
        assert digest(values, key) != before
        bits[at] ^= bit
    assert digest(values, key) == before


def test_words_that_change_places_are_noticed():
    key, values = Key.new(), np.arange(4 * WORDS, dtype=np.float64)
    blocks = values.reshape(4, WORDS)
    assert digest(blocks[[1, 0, 2, 3]].reshape(-1), key) != digest(values, key)
    assert digest(np.roll(values, 1), key) != digest(values, key)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_each_cell_of_a_layer_has_its_own_checksum_wherever_the_layer_begins(dtype):
    key, values = Key.new(), np.random.default_rng(1).standard_normal(3 * CELL).astype(dtype)
    for first in (0, 7, CELL - 1, 2 * CELL + 12):
        last, before = first + values.size, first // CELL
        known = np.zeros(-(-last // CELL) - before, np.uint64)
        assert are_as_known(values, first, first=first, last=last, known=known, key=key)
        cuts = [first, *(cut for cut in range(0, last, CELL) if cut > first), last]
        assert known.tolist() == [
            digest(values[start - first : stop - first].copy(), key) for start, stop in pairwise(cuts)
        ]


def test_a_cell_that_is_read_in_part_is_left_out():
    key, values, known = Key.new(), np.ones(3 * CELL, np.float32), np.zeros(3, np.uint64)
    assert are_as_known(values[5:-5], 5, first=0, last=values.size, known=known, key=key)
    assert np.flatnonzero(known).tolist() == [1]


def test_keys_are_drawn_anew():
    assert digest(np.ones(9), Key.new()) != digest(np.ones(9), Key.new())


def test_files_are_read_and_compared_in_one_go(tmp_path):
    key, size, start = Key.new(), CELL + 1000, 24
    sent = np.random.default_rng(0).normal(size=(4, size)).astype(np.float32)
    for name, row in enumerate(sent):
        (tmp_path / str(name)).write_bytes(bytes(start) + row.tobytes())
    files = [open(tmp_path / str(name), "rb") for name in range(4)]  # noqa: SIM115
    known = np.zeros((3, 2), np.uint64)
    watched = [
        InFile(file.fileno(), start, 0, 0, size, own, key) for file, own in zip(files[:3], known, strict=True)
    ]
    pieces, found = [*watched, InFile(files[3].fileno(), start)], np.zeros_like(sent)

    assert read_as_known(pieces, list(found)) == (4, False)
    np.testing.assert_array_equal(found, sent)
    for own, row in zip(known, sent[:3], strict=True):
        assert own.all()
        assert are_as_known(row, 0, first=0, last=size, known=own.copy(), key=key)

    (tmp_path / "3").write_bytes(bytes(start) + sent[0].tobytes())  # of the server's own, nothing is known
    assert read_as_known(pieces, list(found)) == (4, False)
    np.testing.assert_array_equal(found[3], sent[0])
    with open(tmp_path / "2", "r+b") as file:
        file.truncate(start + 4 * size - 1)
    assert read_as_known(pieces, list(found)) == (2, False)
    with open(tmp_path / "1", "r+b") as file:
        file.seek(start + 4 * CELL)
        file.write(b"?")
    assert read_as_known(pieces, list(found)) == (1, True)
    for file in files:
        file.close()
