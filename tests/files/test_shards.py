import contextlib

import numpy as np
import pytest

from holdfast import bind, invariant, multi_krum, weak_dp
from holdfast.errors import DataError, InputError
from holdfast.files import aggregate_files, save_tensors
from holdfast.files.opening import StoredTensor
from holdfast.files.room import Room
from holdfast.files.round import FileRound
from holdfast.files.shards import MoreToDo, merge_shards, run_shard
from holdfast.files.told import partials_of
from holdfast.updates.layout import Unfit

from ..rules import RULES, named
from .rounds import some_models, write_round
from .test_aggregating import given_for


def turns_of(given, out, room, n_shards):
    """Run all shards by turns, as three machines would, until the model can be merged."""
    for turn in range(1, 9):
        for shard in range(1, n_shards + 1):
            with contextlib.suppress(MoreToDo):
                run_shard(given, out, room, shard, n_shards)
        try:
            return turn, merge_shards(out, room)
        except MoreToDo:
            continue
    raise AssertionError("it never ends")


@pytest.mark.parametrize("n_shards", [1, 2, 7])
@pytest.mark.parametrize("rule", RULES, ids=named)
def test_shards_give_the_bits_of_one_machine(rule, n_shards, tmp_path):
    base, models = some_models()
    models[3]["b.weight"][60_000] = np.nan
    at, clients = write_round(tmp_path, base, models)
    files, _ = given_for(rule, tmp_path, base)
    room = Room(tmp_path, 10**9)
    given = FileRound(tuple(clients), at, rule, explain=True, **files)
    _, said = turns_of(given, tmp_path / "sharded.safetensors", room, n_shards)
    (tmp_path / "state.safetensors").unlink(missing_ok=True)
    alone = aggregate_files(clients, rule, base=at, out=tmp_path / "alone.safetensors", explain=True, **files)
    assert (tmp_path / "sharded.safetensors").read_bytes() == (tmp_path / "alone.safetensors").read_bytes()
    assert said.as_dict() == alone.as_dict()
    assert [drop.client for drop in said.dropped] == ["c03"]
    assert not partials_of(tmp_path / "sharded.safetensors").exists()


def test_a_shard_made_of_other_files_is_refused(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    given, room = FileRound(tuple(clients), at, bind(invariant)), Room(tmp_path, 10**9)
    with pytest.raises(MoreToDo, match="run the shards 2/2"):
        run_shard(given, tmp_path / "next", room, 1, 2)
    save_tensors(clients[0], {**models[0], "b.bias": models[0]["b.bias"].astype(np.float16)})
    with pytest.raises(DataError, match="was made from other files or settings"):
        run_shard(given, tmp_path / "next", room, 2, 2)


def test_a_file_that_shrinks_under_one_shard_is_dropped_by_all(tmp_path, monkeypatch):
    base, models = some_models(7)
    at, clients = write_round(tmp_path, base, models)
    given, room = FileRound(tuple(clients), at, bind(multi_krum, n_malicious=1)), Room(tmp_path, 10**9)
    read = StoredTensor.read

    def short(tensor, start, out):
        if tensor.file.path == clients[2]:
            raise Unfit("fewer bytes than when it was opened")
        read(tensor, start, out)

    with monkeypatch.context() as patch:
        patch.setattr(StoredTensor, "read", short)
        with pytest.raises(MoreToDo):
            run_shard(given, tmp_path / "next", room, 1, 2)
    _, said = turns_of(given, tmp_path / "next", room, 2)
    assert [str(drop) for drop in said.dropped] == ["client c02: holds fewer bytes than when it was opened"]
    aggregate_files([*clients[:2], *clients[3:]], given.rule, base=at, out=tmp_path / "alone")
    assert (tmp_path / "next").read_bytes() == (tmp_path / "alone").read_bytes()


def test_shards_that_draw_random_numbers_need_a_seed(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    with pytest.raises(InputError, match="weak_dp draws random numbers: shards need the same seed"):
        run_shard(
            FileRound(tuple(clients), at, bind(weak_dp)), tmp_path / "next", Room(tmp_path, 10**9), 1, 2
        )


def test_more_shards_than_cells_leave_some_with_nothing_to_do(tmp_path):
    base, models = some_models(3, shapes={"w": (10,)})
    at, clients = write_round(tmp_path, base, models)
    given = FileRound(tuple(clients), at, bind(invariant))
    turns, _ = turns_of(given, tmp_path / "next", Room(tmp_path, 10**9), 3)
    assert turns == 1
    aggregate_files(clients, invariant, base=at, out=tmp_path / "alone")
    assert (tmp_path / "next").read_bytes() == (tmp_path / "alone").read_bytes()
