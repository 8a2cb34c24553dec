"""Every path has one role, and what could not be written leaves nothing half done."""

import errno
import json
import os

import pytest

from holdfast import aggregators as a
from holdfast import fedavg, median
from holdfast.errors import DataError, InputError
from holdfast.files import aggregate_files, aggregating, load_tensors, output, save_tensors

from .rounds import assert_same, in_memory, sharded, some_models, write_round


@pytest.fixture
def files(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    return clients, {"base": at, "out": tmp_path / "next", "state": tmp_path / "state"}


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("state", "out", "the output and the state"),
        ("state", "base", "the base and the state"),
        ("reference", "out", "the output and the reference"),
        ("weights", "state", "the state and the weights"),
        ("out", "client", "the output and a client"),
        ("base", "client", "the base and a client"),
        ("state", "client", "the state and a client"),
    ],
)
def test_two_roles_for_one_path_are_refused_before_any_work(one, other, said, files, tmp_path, monkeypatch):
    clients, given = files
    path = clients[1] if other == "client" else given[other]
    (tmp_path / "elsewhere").symlink_to(path.parent)
    given[one] = tmp_path / "elsewhere" / path.name  # the same by another name
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.safetensors")}
    monkeypatch.setattr("holdfast.files.aggregating.open_own", None)
    with pytest.raises(InputError, match=f"{said} are the same path, .*: each needs its own"):
        aggregate_files(clients, a.centered_clipping, **given)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.safetensors")} == before


@pytest.mark.parametrize("role", ["out", "state"])
def test_a_link_is_not_replaced_by_what_is_written(role, files, tmp_path):
    clients, given = files
    real = tmp_path / "real"
    given[role].symlink_to(real)
    with pytest.raises(InputError, match="is a symbolic link, which would be replaced: name the file itself"):
        aggregate_files(clients, a.centered_clipping, **given)
    assert not real.exists()


def test_one_file_under_two_names_counts_once(tmp_path):
    base, models = some_models(4)
    at, clients = write_round(tmp_path, base, models)
    folder = sharded(tmp_path / "clients" / "dan", models[3])
    os.link(clients[1], tmp_path / "clients" / "again.safetensors")
    given = [
        *clients[:3],
        tmp_path / "clients" / "again.safetensors",
        folder,
        folder / "model.safetensors.index.json",
    ]
    said = aggregate_files(given, fedavg, base=at, out=tmp_path / "next")
    assert said.diagnostics.clients == ("c00", "c01", "c02", "dan")
    assert {drop.client: drop.reason for drop in said.diagnostics.dropped} == {
        "again": "is the same file as that of client c01",
        "model": "is the same file as that of client dan",
    }
    assert_same(tmp_path / "next", in_memory(base, models, fedavg)[0])


def test_an_index_that_names_another_clients_file_drops_its_own_client(tmp_path):
    base, models = some_models(4)
    at, clients = write_round(tmp_path, base, models)
    index = tmp_path / "clients" / "aaa.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": dict.fromkeys(base, clients[2].name)}))
    said = aggregate_files([index, *clients], fedavg, base=at, out=tmp_path / "next")
    assert [str(drop) for drop in said.diagnostics.dropped] == [
        "client aaa: is the same file as that of client c02"
    ]
    assert_same(tmp_path / "next", in_memory(base, models, fedavg)[0])


def full_disk(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("is_sharded", [False, True])
def test_a_state_that_cannot_be_written_leaves_model_and_state_as_they_were(
    is_sharded, files, tmp_path, monkeypatch
):
    clients, given = files
    if is_sharded:
        given["base"] = sharded(tmp_path / "base", load_tensors(given["base"]))
    aggregate_files(clients, a.centered_clipping, **given)
    before = load_tensors(given["out"]), given["state"].read_bytes()
    names = sorted(path.name for path in tmp_path.iterdir())
    save_tensors(clients[0], load_tensors(clients[1]))
    monkeypatch.setattr("holdfast.files.saving.encoded", full_disk)
    with pytest.raises(OSError, match="No space left"):
        aggregate_files(clients, a.centered_clipping, **given)
    assert_same(given["out"], before[0])
    assert given["state"].read_bytes() == before[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == names


def test_a_model_that_cannot_be_written_leaves_the_state_as_it_was(files, monkeypatch):
    clients, given = files
    monkeypatch.setattr(output, "moved", full_disk)
    with pytest.raises(OSError, match="No space left") as full:
        aggregate_files(clients, a.centered_clipping, **given)
    assert full.value.filename == str(given["out"])
    assert not given["out"].exists()
    assert not given["state"].exists()


def test_no_room_for_an_update_is_an_error_that_names_the_folder(files, tmp_path, monkeypatch):
    clients, given = files
    monkeypatch.setattr(os, "posix_fallocate", full_disk)
    monkeypatch.setattr("holdfast.files.room.OWN", 1 << 50)  # nothing fits into memory
    monkeypatch.setattr("holdfast.files.room.Room.n_workers", lambda *_: 1)
    with pytest.raises(OSError, match="No space left") as full:
        aggregate_files(clients, median, base=given["base"], out=given["out"])
    assert full.value.filename == str(tmp_path)


@pytest.mark.parametrize("deed", ["shrinks", "is written to"])
@pytest.mark.parametrize("moment", ["before the pass", "before the output"])
def test_a_base_that_changes_meanwhile_is_an_error_that_names_it(deed, moment, files, monkeypatch):
    clients, given = files

    def do():
        if deed == "shrinks":
            os.truncate(given["base"], 1000)
        else:
            with open(given["base"], "r+b") as file:
                file.seek(2000)
                file.write(b"other bytes")

    name = "open_round" if moment == "before the pass" else "written_model"
    then = getattr(aggregating, name)
    monkeypatch.setattr(aggregating, name, lambda *args, **more: do() or then(*args, **more))
    with pytest.raises(DataError, match=r"the base, .*base.safetensors, (holds fewer bytes|was changed)"):
        aggregate_files(clients, median, base=given["base"], out=given["out"])
    assert not given["out"].exists()
