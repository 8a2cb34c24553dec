"""The checksum against a slow twin in whole numbers, and against those who change a bit."""

import numpy as np
import pytest

from holdfast.kernels.digests import WORDS, Key, digest
from holdfast.updates.rows import CELL


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
@pytest.mark.parametrize("size", [0, 1, 3, 4, 1000, 1023, 5000, CELL])
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


def test_keys_are_drawn_anew():
    assert digest(np.ones(9), Key.new()) != digest(np.ones(9), Key.new())
