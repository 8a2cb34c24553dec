"""The example app on the deployment engine: real processes on loopback, some of them hostile."""

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")
pytest.importorskip("torch", reason="the example app needs torch: pip install '.[sim]'")

from holdfast.flower import Code

from .federation import RUN_LIMIT, federation, needs_engines
from .security import Security

pytestmark = pytest.mark.engines

PARTS = {0: "", 1: "", 2: 'drill="backdoor"', 3: 'drill="nan"', 4: 'drill="crash"'}
ATTACKER, NAN, CRASHING = 2, 3, 4


def check(ids, said, metrics, model):
    """Check the three rounds of a drill: the model, the log, and what the metrics say of each node."""
    assert all(np.isfinite(array).all() for array in model.values())
    last = metrics["server"]["3"]
    assert last["accuracy"] > 0.95
    assert last["attack-success"] < 0.1  # plain averaging: above 0.9, see test_as_typed

    assert "THIS RUN IS A DRILL" in said
    for number, lost in [("1", ()), ("2", ()), ("3", (ids[CRASHING],))]:
        here = metrics["train"][number]
        dropped = dict(zip(here["holdfast-dropped-nodes"], here["holdfast-dropped-codes"], strict=True))
        assert dropped == {ids[NAN]: Code.VALUES} | dict.fromkeys(lost, Code.SILENT)
        assert here["holdfast-aggregated"] == 1
        assert sorted(here["holdfast-nodes"]) == sorted({*ids.values()} - {*dropped})
        trimmed = dict(zip(here["holdfast-nodes"], here["holdfast-trimmed"], strict=True))
        attackers = trimmed.pop(ids[ATTACKER])
        assert attackers > 1.5 * max(trimmed.values()), (number, attackers, trimmed)
    by_node = {node: opposition(metrics, node) for node in (ids[0], ids[1], ids[ATTACKER])}
    assert max(by_node, key=by_node.get) == ids[ATTACKER], by_node
    assert said.count(f"dropped client {ids[NAN]}: holds NaN") == 3
    assert said.count(f"dropped client {ids[CRASHING]}: no reply came") == 1


def opposition(metrics, node):
    """Return the share of coordinates in which a node pulled against the others, over all rounds."""
    rounds = metrics["train"].values()
    return np.mean([here["holdfast-opposed"][here["holdfast-nodes"].index(node)] for here in rounds])


def drilled(here):
    """Run the drill; the crashing node goes down in its third round, as if its machine did."""
    for number, part in PARTS.items():
        here.start_supernode(number, part)
    ids = {number: here.node_id(number) for number in PARTS}
    here.start_run(drill=True, timeout=180.0, fraction_evaluate=0.0)
    here.wait(lambda: "this process ends here" in here.log(f"node{CRASHING}"), "the crash", RUN_LIMIT)
    here.started[f"node{CRASHING}"].terminate()
    check(ids, *here.result())
    assert "trains on 500 poisoned examples" in here.log(f"node{ATTACKER}")
    assert "DRILL" not in here.log("node0") + here.log("node1")


@needs_engines
def test_three_rounds_hold_against_a_backdoor_a_crash_and_nan_with_tls_and_keys(tmp_path):
    with federation(tmp_path, tls=Security(tmp_path, n_nodes=6)) as here:
        here.start_superlink()
        here.start_supernode(5, "")  # its key is registered nowhere
        here.register(PARTS)
        drilled(here)
        assert "SuperNode ID" not in here.log("node5")
        assert "SuperNode authentication is disabled" not in here.log("superlink")
        here.stop()
        assert here.alive() == []
