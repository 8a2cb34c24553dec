import contextlib

import numpy as np
import pytest

from holdfast.files import aggregate_files
from holdfast.files.room import Room
from holdfast.files.round import FileRound
from holdfast.files.shards import MoreToDo, merge_shards, run_shard
from holdfast.files.told import partials_of

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
