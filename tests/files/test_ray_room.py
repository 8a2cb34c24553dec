"""Against a real Ray cluster, on this machine."""

import os
import threading
import warnings

import numpy as np
import pytest

from holdfast import median, multi_krum
from holdfast.errors import HoldfastError
from holdfast.files import aggregate_files
from holdfast.files.ray_room import RayRoom
from holdfast.updates import Rows

from ..rules import RULES, named
from .rounds import some_models, write_round
from .test_aggregating import given_for

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install '.[ray]'")
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]  # Ray's own warnings


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
    given = {"base": at, "explain": True, **files}
    out, seen = tmp_path / "ray.safetensors", []
    said = aggregate_files(
        clients, rule, out=out, workers="ray", progress=lambda *step: seen.append(step), **given
    )
    (tmp_path / "state.safetensors").unlink(missing_ok=True)
    alone = aggregate_files(clients, rule, out=tmp_path / "alone.safetensors", **given)
    assert out.read_bytes() == (tmp_path / "alone.safetensors").read_bytes()
    assert said.as_dict() == alone.as_dict()
    assert [drop.client for drop in said.diagnostics.dropped] == ["c03"]
    assert seen[0] == (1, 1, 3)


@pytest.mark.parametrize("deed", ["shrinks", "is rewritten", "is gone", "is a link"])
def test_a_file_that_changes_under_the_workers_drops_its_client(deed, cluster, tmp_path, monkeypatch):
    base, models = some_models(7)
    at, clients = write_round(tmp_path, base, models)
    other = tmp_path / "other"
    other.write_bytes(clients[2].read_bytes())

    def columns(rows, start, stop):
        if clients[2] in {array.file.path for arrays in rows.arrays for array in arrays}:
            if deed == "shrinks":
                os.truncate(clients[2], 1000)
            elif deed == "is rewritten":
                clients[2].write_bytes(other.read_bytes())
            elif deed == "is gone":
                clients[2].unlink(missing_ok=True)
            else:  # parts are cut by several threads: each puts its link there in one step
                link = tmp_path / f"link-{threading.get_ident()}"
                link.symlink_to(other)
                link.replace(clients[2])
        return cut(rows, start, stop)

    cut = Rows.columns
    monkeypatch.setattr(Rows, "columns", columns)
    rule, out = multi_krum(n_malicious=1), tmp_path / "ray.safetensors"
    said = aggregate_files(clients, rule, base=at, out=out, workers="ray")
    assert [drop.client for drop in said.diagnostics.dropped] == ["c02"]
    assert "bytes" in said.diagnostics.dropped[0].reason
    aggregate_files([*clients[:2], *clients[3:]], rule, base=at, out=tmp_path / "alone.safetensors")
    assert out.read_bytes() == (tmp_path / "alone.safetensors").read_bytes()


def test_a_file_that_is_exchanged_between_two_passes_drops_its_client(cluster, tmp_path, monkeypatch):
    """With all that a worker sees of it from outside: its size, and its times set back."""
    base, models = some_models(7)
    at, clients = write_round(tmp_path, base, models)
    found, run = clients[2].stat(), RayRoom.run

    def exchanging(room, rows, job, out):
        if room.n_passes == 1:
            content = bytearray(clients[2].read_bytes())
            content[-50_000] ^= 1
            (tmp_path / "other").write_bytes(content)
            os.utime(tmp_path / "other", ns=(found.st_atime_ns, found.st_mtime_ns))
            os.replace(tmp_path / "other", clients[2])
        return run(room, rows, job, out)

    monkeypatch.setattr(RayRoom, "run", exchanging)
    rule, out = multi_krum(n_malicious=1), tmp_path / "ray.safetensors"
    said = aggregate_files(clients, rule, base=at, out=out, workers="ray")
    assert [str(drop) for drop in said.diagnostics.dropped] == [
        "client c02: holds bytes that were changed while they were read"
    ]
    aggregate_files([*clients[:2], *clients[3:]], rule, base=at, out=tmp_path / "alone.safetensors")
    assert out.read_bytes() == (tmp_path / "alone.safetensors").read_bytes()


def test_workers_that_do_not_see_the_base_are_an_error_that_says_so(cluster, tmp_path, monkeypatch):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)

    def columns(rows, start, stop):
        at.unlink(missing_ok=True)
        return cut(rows, start, stop)

    cut = Rows.columns
    monkeypatch.setattr(Rows, "columns", columns)
    with pytest.raises(HoldfastError, match=r"worker of the Ray cluster failed: the base, .* the same paths"):
        aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors", workers="ray")
    assert not (tmp_path / "next.safetensors").exists()
