"""Nodes that upload too much, or what nobody can decode, or never answer, and strangers at the door."""

import http.client
import socket
import ssl
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")

from holdfast.flower import Code

from .federation import RUN_LIMIT, federation, needs_engines
from .security import Security

pytestmark = pytest.mark.engines

APP = Path(__file__).parent / "hostile_app"
PARTS = {0: "", 1: "", 2: 'part="oversized"', 3: 'part="malformed"', 4: 'part="slow"'}
HONEST, OVERSIZED, MALFORMED, SLOW, STRANGER = (0, 1), 2, 3, 4, 5
PROTOBUF = {"Content-Type": "application/protobuf"}
CALLS = ("activate-node", "pull-messages", "push-messages", "push-object")


@contextmanager
def half_open(address, count):
    """Hold connections that begin to speak, and never say more."""
    with ExitStack() as held:
        for _ in range(count):
            held.enter_context(socket.create_connection(address)).send(b"\x16\x03\x01")
        yield


def answers_without_a_key(address, root):
    """Return what the SuperLink answers to somebody who calls as if a node, and signs nothing."""
    secured = ssl.create_default_context(cafile=root)
    with closing(http.client.HTTPSConnection(*address, context=secured)) as line:
        for call in CALLS:
            line.request("POST", f"/v1/fleet/{call}", b"\x0a\x02\x08\x07", PROTOBUF)
            answer = line.getresponse()
            answer.read()
            yield answer.status


def check(ids, said, metrics, model):
    first, second = (
        dict(zip(here["holdfast-dropped-nodes"], here["holdfast-dropped-codes"], strict=True))
        for here in (metrics["train"]["1"], metrics["train"]["2"])
    )
    lost = {ids[MALFORMED]: Code.UNREADABLE, ids[SLOW]: Code.SILENT}
    assert first == {ids[OVERSIZED]: Code.SHAPE} | lost
    assert second == lost
    here = metrics["train"]["2"]
    assert {*here["holdfast-nodes"]} == {ids[number] for number in (*HONEST, OVERSIZED)}
    assert here["holdfast-odd-metrics-nodes"] == [ids[OVERSIZED]]  # its model fits, and is used
    assert here["loss"] == 0.5
    np.testing.assert_allclose(model["arr_0"], 2, atol=0.1)
    assert f"dropped client {ids[MALFORMED]}: cannot be decoded: IndexError" in said


@needs_engines
def test_the_federation_trains_on(tmp_path):
    tls = Security(tmp_path, n_nodes=6)
    with federation(tmp_path, tls=tls) as here:
        here.start_superlink()
        here.register(PARTS)
        here.start_supernode(STRANGER, "")  # its key is registered nowhere
        for number, part in PARTS.items():
            here.start_supernode(number, part)
        ids = {number: here.node_id(number) for number in PARTS}
        address = "127.0.0.1", here.port
        with half_open(address, 50):
            assert {*answers_without_a_key(address, tls.root)} == {401}
            here.start_run(app=APP)
            here.wait(lambda: "round 2" in here.log("node0"), "the second round", RUN_LIMIT)
            here.started[f"node{SLOW}"].terminate()
            check(ids, *here.result())
        assert "SuperNode ID" not in here.log(f"node{STRANGER}")
        here.stop()
        assert here.alive() == []
