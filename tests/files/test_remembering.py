"""Rules that remember every client, over files: each round has other clients, and momenta lie in files."""

import pytest

from holdfast import median
from holdfast.aggregators import cached, fl_detector, foolsgold
from holdfast.errors import DataError
from holdfast.files import aggregate_files

from .rounds import assert_same, drawn, in_memory, some_models, write_round


@pytest.mark.parametrize("rule", [cached(rule=median), fl_detector(window=1), foolsgold(sample=500)], ids=str)
def test_rounds_of_other_clients_give_the_bits_of_those_in_memory(rule, tmp_path):
    check_rounds(rule, rule, tmp_path)


def test_momenta_on_disk_give_the_bits_of_those_in_memory(tmp_path):
    on_disk = cached(rule=median, folder=str(tmp_path / "momenta"))
    check_rounds(on_disk, cached(rule=median), tmp_path)
    for path in (tmp_path / "momenta").glob("*/*-3"):
        path.unlink()
    with pytest.raises(DataError, match="which the state refers to, is not there"):
        check_rounds(on_disk, cached(rule=median), tmp_path)


def check_rounds(rule, there, folder):
    """Hold three rounds over files, each of five clients of nine, against the same in memory."""
    base, models = some_models()
    at, clients = write_round(folder, base, models)
    state = None
    for number, present in enumerate([[0, 1, 2, 3, 4], [4, 5, 6, 2, 1], [8, 7, 4, 1, 2]]):
        rng = drawn(number, at)
        files = {"out": at, "state": folder / "state.safetensors", "seed": number}
        said = aggregate_files([clients[i] for i in present], rule, base=at, **files)
        own = {clients[i].stem: models[i] for i in present}
        base, result = in_memory(base, own, there, state=state, rng=rng)
        state = result.state
        assert_same(at, base)
        assert said.diagnostics.clients == result.diagnostics.clients
