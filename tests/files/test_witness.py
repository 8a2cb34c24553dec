"""A client that shows one content to the first look and another to the second is dropped."""

import mmap
import pickle
from itertools import pairwise

import numpy as np
import pytest

from holdfast import Aggregate, factions, fedavg, median, multi_krum, rfa, rule
from holdfast.files import aggregate_files
from holdfast.files.room import Room
from holdfast.files.witness import MOST_SAMPLED, Witness
from holdfast.kernels.digests import Key
from holdfast.updates.layout import Unfit
from holdfast.updates.rows import CELL

from .rounds import assert_same, in_memory, some_models, write_round

SIZE = 40 * CELL


def mapped_for_writing(path):
    """The numbers of a file, in memory, with all pages written to: later writes leave no trace."""
    with open(path, "r+b") as file:
        page = mmap.mmap(file.fileno(), 0)
    numbers = np.frombuffer(page, "<f4", offset=len(page) - 4 * SIZE)
    numbers[:] = numbers.copy()
    return numbers


class Timed(Room):
    """Does something before a certain pass."""

    before, deed = 0, None

    def run(self, rows, job, out):
        if self.n_passes + 1 == self.before:
            type(self).deed()
        return super().run(rows, job, out)


@pytest.fixture
def round_(tmp_path):
    """Seven clients; what the third one has mapped into memory; what honest ones make of the round."""
    base, models = some_models(7, shapes={"w": (SIZE,)})
    at, clients = write_round(tmp_path, base, models)
    files = {"base": at, "out": tmp_path / "next.safetensors"}
    return clients, files, mapped_for_writing(clients[2]), (base, [*models[:2], *models[3:]])


def before_pass(number, deed, monkeypatch):
    monkeypatch.setattr(Timed, "before", number)
    monkeypatch.setattr(Timed, "deed", staticmethod(deed))
    monkeypatch.setattr("holdfast.files.aggregating.Room", Timed)


DROPPED = ["client c02: holds bytes that were changed while they were read"]


@pytest.mark.parametrize("chosen", [multi_krum(n_malicious=1), rfa], ids=lambda one: one.name)
def test_a_write_through_a_mapping_between_two_passes_drops_the_client(chosen, round_, monkeypatch):
    clients, files, numbers, honest = round_
    before_pass(2, lambda: numbers.__setitem__(5 * CELL + 7, 1e6), monkeypatch)
    said = aggregate_files(clients, chosen, **files)
    assert [str(drop) for drop in said.diagnostics.dropped] == DROPPED
    assert_same(files["out"], in_memory(*honest, chosen)[0])


def test_a_write_between_the_watch_and_the_rule_drops_the_client(round_, tmp_path, monkeypatch):
    clients, files, numbers, honest = round_
    before_pass(1, lambda: numbers.__imul__(np.float32(1.5)), monkeypatch)
    watch, state = factions(hearing=0.0, sample=300), tmp_path / "state"
    said = aggregate_files(clients, fedavg, **files, state=state, watch=watch)
    assert [str(drop) for drop in said.diagnostics.dropped] == DROPPED
    assert_same(files["out"], in_memory(*honest, fedavg)[0])


def test_a_write_between_two_looks_of_a_rule_in_plain_numpy_drops_the_client(round_):
    clients, files, numbers, honest = round_

    @rule
    def median_of_the_second_look(updates):
        np.asarray(updates)
        numbers[9] += 1
        return Aggregate(np.median(np.asarray(updates), axis=0))

    said = aggregate_files(clients, median_of_the_second_look, **files)
    assert [str(drop) for drop in said.diagnostics.dropped] == DROPPED
    assert_same(files["out"], in_memory(*honest, median)[0])


def some_numbers(size, dtype):
    bits = np.random.default_rng(size).integers(0, 256, size * np.dtype(dtype).itemsize, dtype=np.uint8)
    return bits.view(dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u2"])
@pytest.mark.parametrize("first", [0, 5, CELL - 1, 3 * CELL + 1001])
@pytest.mark.parametrize("size", [1, 11, CELL + 3, 5 * CELL])
def test_every_changed_bit_is_noticed_however_the_tensor_is_read_again(dtype, first, size):
    values, rng = some_numbers(size, dtype), np.random.default_rng(0)
    cuts = [cut - first for cut in range(0, first + size, CELL) if first < cut]
    seen = Witness.of(Key.new(), first, size, values.dtype)
    for start, stop in pairwise([0, *cuts, size]):  # cell by cell; then all at once
        seen.check(start, values[start:stop])
    for _ in range(5):
        seen.check(0, values)
        other = values.copy()
        other.view(np.uint8)[rng.integers(values.nbytes)] ^= 1 << rng.integers(8)
        with pytest.raises(Unfit, match="changed while they were read"):
            seen.check(0, other)


def test_single_numbers_are_compared_with_the_cells_they_lie_in():
    values = some_numbers(3 * CELL, "f4")
    for changed in (None, 17, 2 * CELL + 5):
        seen = Witness.of(Key.new(), 100, values.size, values.dtype)
        for at in (2 * CELL + 5, 17, 17, CELL):
            seen.check(at, values[at : at + 1])
        later = values.copy()
        if changed is None:
            seen.check(0, later)
            continue
        later[changed : changed + 1].view(np.uint32)[:] ^= 1
        with pytest.raises(Unfit, match="changed while they were read"):
            seen.check(0, later)


def test_what_is_kept_of_cells_that_are_read_in_part_is_bounded():
    values = some_numbers(20 * CELL, "f4")
    seen = Witness.of(Key.new(), 0, values.size, values.dtype)
    for start in range(1, values.size - CELL, CELL // 2):
        seen.check(start, values[start : start + CELL // 3])
    assert MOST_SAMPLED - CELL < len(seen.places) <= MOST_SAMPLED


def test_a_part_has_the_checksums_of_the_whole():
    values = some_numbers(4 * CELL, "f4")
    whole = Witness.of(Key.new(), CELL // 2, values.size, values.dtype)
    whole.check(3 * CELL, values[3 * CELL : 3 * CELL + 1])
    cut = slice(CELL // 2, 2 * CELL + CELL // 2)
    whole.part(cut).check(0, values[cut])
    assert np.count_nonzero(whole.digests) == 2
    assert len(whole.part(cut).places) == 0  # what it need not know is not sent along
    whole.check(0, values)
    last = pickle.loads(pickle.dumps(whole.part(slice(cut.stop, values.size))))
    last.digests[:] = 0
    values[3 * CELL] += 1
    with pytest.raises(Unfit, match="changed while they were read"):
        last.check(0, values[cut.stop :])
