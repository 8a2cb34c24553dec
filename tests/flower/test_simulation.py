"""The same app, unchanged, on the simulation engine; parts of the drill are given by partition."""

import os
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")
pytest.importorskip("ray", reason="Flower simulates with Ray: pip install '.[flower,ray]'")
pytest.importorskip("torch", reason="the example app needs torch: pip install '.[sim]'")

from holdfast.flower import Code

from .federation import federation, needs_engines

pytestmark = pytest.mark.engines

PARTS = "2:backdoor 3:nan 4:fail"
FIVE_NODES = ("--federation-config", "num-supernodes=5 client-resources-num-cpus=1")
CIFAR10 = Path(os.environ.get("HOLDFAST_DATA", "")) / "cifar10_subset_12k.npz"


def run(here, **config):
    here.start_run(*FIVE_NODES, **config)
    return here.result()


@needs_engines
def test_the_drill_does_not_open_the_defended_app(tmp_path):  # but an average: test_as_typed.py
    with federation(tmp_path) as here:
        here.start_superlink("--simulation")
        said, metrics, model = run(here, drill=True, drill_parts=PARTS)
        assert all(np.isfinite(array).all() for array in model.values())
        assert metrics["server"]["3"]["accuracy"] > 0.95
        assert metrics["server"]["3"]["attack-success"] < 0.1
        for number in ("1", "2", "3"):
            train, evaluate = metrics["train"][number], metrics["evaluate"][number]
            assert sorted(train["holdfast-dropped-codes"]) == [Code.ERROR, Code.VALUES]
            assert train["holdfast-used"] == 3
            assert evaluate["holdfast-used"] == 5  # only training is attacked
            assert evaluate["accuracy"] > 0.9
        assert "this node fails, as the drill asks" in said
        here.stop()
        assert here.alive() == []


@needs_engines
def test_nodes_with_a_part_refuse_a_run_that_is_no_drill(tmp_path):
    with federation(tmp_path) as here:
        here.start_superlink("--simulation")
        said, metrics, _ = run(here, drill=False, drill_parts="2:backdoor 3:nan", rounds=1)
        train = metrics["train"]["1"]
        assert train["holdfast-dropped-codes"] == [Code.ERROR, Code.ERROR]
        assert train["holdfast-used"] == 3
        assert "DRILL REFUSED" in said
        assert "has the part 'nan' of a drill, but this run is none" in said
        assert metrics["server"]["1"]["attack-success"] < 0.1


@needs_engines
@pytest.mark.skipif(not CIFAR10.is_file(), reason=f"set HOLDFAST_DATA to a folder that holds {CIFAR10.name}")
def test_the_drill_holds_on_real_images(tmp_path):
    with federation(tmp_path) as here:
        here.start_superlink("--simulation")
        config = {"task": "cifar10", "fraction_evaluate": 0.0, "drill": True}
        _, metrics, _ = run(here, drill_parts=PARTS, **config)
        assert metrics["server"]["3"]["accuracy"] > 0.35  # three honest-sized steps of a small network
        assert metrics["server"]["3"]["attack-success"] < 0.15
        nodes, trimmed = (metrics["train"]["3"][f"holdfast-{name}"] for name in ("nodes", "trimmed"))
        assert len(nodes) == 3
        assert sorted(trimmed)[2] > 1.3 * sorted(trimmed)[1]
