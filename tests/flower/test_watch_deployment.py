"""Ten authenticated SuperNodes on loopback, of which three attack: lost by averaging, won with a watch."""

from pathlib import Path

import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")

from .federation import federation, needs_engines
from .security import Security

pytestmark = pytest.mark.engines

APP = Path(__file__).parent / "app"
N_NODES, ATTACKERS = 10, (7, 8, 9)


def start_nodes(here, numbers):
    """Return the ids of the nodes, once they have joined."""
    for number in numbers:
        here.start_supernode(number, 'drill="backdoor"' if number in ATTACKERS else "", n_nodes=N_NODES)
    return [here.node_id(number) for number in numbers]


def run(here, **config):
    here.start_run(app=APP, drill=True, nodes=N_NODES, **config)
    said, metrics, _ = here.result()
    return said, metrics


@needs_engines
def test_three_attackers_of_ten_open_an_average_and_are_expelled_by_the_watch(tmp_path):
    with federation(tmp_path, tls=Security(tmp_path, N_NODES), n_nodes=N_NODES) as here:
        here.start_superlink()
        here.register(range(N_NODES))
        ids = start_nodes(here, range(N_NODES))
        attackers = sorted(ids[number] for number in ATTACKERS)

        _, averaged = run(here, watch=False, rounds=2)
        assert averaged["server"]["2"]["attack-success"] > 0.5

        here.started["node9"].terminate()  # its key gives it its identity back
        here.started["node9"].wait()
        assert start_nodes(here, [9]) == ids[9:]

        said, watched = run(here, watch=True, rounds=5)
        last = watched["train"]["5"]
        assert [watched["train"][number]["holdfast-hearing"] for number in "12345"] == [1, 1, 1, 1, 0]
        assert last["holdfast-expelled-nodes"] == attackers
        assert last["holdfast-used"] == N_NODES - len(ATTACKERS)
        assert all(f"client {node}: expelled since round" in said for node in attackers)
        standings = {one["client"]: one["standing"] for one in watched["verdicts"]["clients"]}
        assert [node for node in ids if standings[node] != "clear"] == [ids[number] for number in ATTACKERS]
        assert watched["server"]["5"]["accuracy"] > 0.95
        assert watched["server"]["5"]["attack-success"] < 0.05
        here.stop()
        assert here.alive() == []
