"""Against a real Ray cluster, on this machine."""

import os
import warnings

import numpy as np
import pytest

from holdfast import bind, median
from holdfast.errors import InputError
from holdfast.files import aggregate_files
from holdfast.files.aggregating import finish_round
from holdfast.files.ray_shards import connect, ray_room
from holdfast.files.round import FileRound

from ..rules import RULES, named
from .rounds import some_models, write_round
from .test_aggregating import given_for

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'holdfast[ray]'")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own


@pytest.fixture(scope="module")
def cluster():
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_ray_gives_the_bits_of_one_machine(rule, cluster, tmp_path):
    base, models = some_models()
    models[3]["b.weight"][60_000] = np.nan
    at, clients = write_round(tmp_path, base, models)
    files, _ = given_for(rule, tmp_path, base)
    out = tmp_path / "ray.safetensors"
    given = FileRound(tuple(clients), at, rule, explain=True, **files)
    seen = []
    said = finish_round(given, out, ray_room(given, out, 10**9, "ray", lambda *step: seen.append(step)))
    (tmp_path / "state.safetensors").unlink(missing_ok=True)
    alone = aggregate_files(clients, rule, base=at, out=tmp_path / "alone.safetensors", explain=True, **files)
    assert out.read_bytes() == (tmp_path / "alone.safetensors").read_bytes()
    assert said.as_dict() == alone.as_dict()
    assert [drop.client for drop in said.dropped] == ["c03"]
    assert seen[0] == (1, 1, 3)


def test_a_second_round_with_the_same_names_is_read_anew(cluster, tmp_path):
    for seed in (1, 2):
        base, models = some_models(3, seed=seed)
        at, clients = write_round(tmp_path, base, models)
        out = tmp_path / "ray.safetensors"
        given = FileRound(tuple(clients), at, bind(median))
        finish_round(given, out, ray_room(given, out, 10**9, "ray"))
        aggregate_files(clients, median, base=at, out=tmp_path / "alone.safetensors")
        assert out.read_bytes() == (tmp_path / "alone.safetensors").read_bytes()


def test_other_workers_than_ray_are_an_error():
    with pytest.raises(InputError, match="ray://address:port; got 'dask'"):
        connect("dask")
