"""Clients whose files break off one after the other cannot make the server start again and again."""

import errno
import os

import ml_dtypes
import numpy as np
import pytest

from holdfast import krum_trimmed_mean, multi_krum, norm_clipping
from holdfast.files import aggregate_files
from holdfast.files.room import Room
from holdfast.updates.rows import CELL

from .rounds import assert_same, in_memory, some_models, write_round

N, N_ATTACKERS = 16, 6


def shorten(path):
    os.truncate(path, path.stat().st_size - 4)


def write(path):
    with open(path, "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"evil")


class Harassed(Room):
    """A home in which, before every pass but the first, more clients do something to their files."""

    attackers, deed = (), None  # in groups
    n_runs = n_passes_in_all = 0

    def run(self, rows, job, out):
        Harassed.n_runs += 1
        if Harassed.n_runs > 1 and self.attackers:
            for path in self.attackers.pop(0):
                self.deed(path)
        try:
            return super().run(rows, job, out)
        finally:
            Harassed.n_passes_in_all = self.n_passes


@pytest.fixture
def harassed(tmp_path, monkeypatch):
    """A round of sixteen, and its honest part; the first six break off, each after the other."""
    base, models = some_models(N, shapes={"a": (5,), "half": (CELL, 3), "brain": (CELL + 1,), "b": (2, 3)})
    types = {"half": np.float16, "brain": ml_dtypes.bfloat16}
    base, *models = (
        {name: x.astype(types.get(name, np.float32)) for name, x in model.items()}
        for model in [base, *models]
    )
    at, clients = write_round(tmp_path, base, models)
    monkeypatch.setattr(Harassed, "n_runs", 0)
    monkeypatch.setattr(Harassed, "deed", staticmethod(shorten))
    monkeypatch.setattr(Harassed, "attackers", [[path] for path in clients[:N_ATTACKERS]])
    monkeypatch.setattr("holdfast.files.aggregating.Room", Harassed)
    return clients, {"base": at, "out": tmp_path / "next"}, (base, models)


@pytest.mark.parametrize("deed", [shorten, write])
@pytest.mark.parametrize("rule", [multi_krum(n_malicious=3), krum_trimmed_mean(n_malicious=3)], ids=str)
def test_the_number_of_passes_does_not_grow_with_the_number_of_attackers(
    rule, deed, harassed, tmp_path, monkeypatch
):
    clients, files, (base, models) = harassed
    monkeypatch.setattr(Harassed, "deed", staticmethod(deed))
    said = aggregate_files(clients, rule, **files)
    assert Harassed.n_passes_in_all <= 5
    # Two break off in a pass, one while files are copied. The others come too late: what they showed counts.
    assert [drop.client for drop in said.diagnostics.dropped] == ["c00", "c01", "c02"]
    assert_same(files["out"], in_memory(base, models[3:], rule)[0])
    assert {path.name for path in tmp_path.iterdir()} == {"base.safetensors", "clients", "next"}


def test_files_that_break_off_together_are_dropped_together(harassed, monkeypatch):
    clients, files, (base, models) = harassed
    rule = norm_clipping(max_norm=1.0)  # both its passes are over all clients
    monkeypatch.setattr(Harassed, "attackers", [clients[:N_ATTACKERS]])
    said = aggregate_files(clients, rule, **files)
    assert Harassed.n_passes_in_all == 4
    assert [drop.client for drop in said.diagnostics.dropped] == [path.stem for path in clients[:N_ATTACKERS]]
    assert_same(files["out"], in_memory(base, models[N_ATTACKERS:], rule)[0])


def test_without_room_for_copies_the_round_starts_again_for_each(harassed, monkeypatch, caplog):
    clients, files, (base, models) = harassed

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("holdfast.files.disk.mapped", full)
    rule = multi_krum(n_malicious=3)
    said = aggregate_files(clients, rule, **files)
    assert len(said.diagnostics.dropped) == N_ATTACKERS
    assert "no room for copies of the clients' files" in caplog.text
    assert_same(files["out"], in_memory(base, models[N_ATTACKERS:], rule)[0])
