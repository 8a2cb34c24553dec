"""Ten authenticated SuperNodes, of which three attack, as an operator has them: verdicts while the training
runs, a ban by command, a server that is killed and resumes, and a log that cannot be edited unnoticed.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from urllib.request import urlopen

import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")
pytest.importorskip("jinja2", reason="the live page needs it: pip install '.[monitor]'")
pytest.importorskip("prometheus_client", reason="numbers are read with it")

from holdfast.flower import Code
from holdfast.ledger import open_ledger, verify

from .federation import RUN_LIMIT, federation, needs_engines
from .security import Security
from .test_watch_deployment import APP, ATTACKERS, N_NODES, start_nodes

pytestmark = [pytest.mark.engines, pytest.mark.browser]

N_PLANNED = 60  # more than there is time for: the server is killed before
HOLDFAST = Path(sys.executable).with_name("holdfast")


def command(*args, code=0):
    """Run a command of holdfast as an operator does, and return what it says."""
    done = subprocess.run([HOLDFAST, *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def rounds_in(path):
    """Return the rounds that are written so far."""
    if not path.exists():
        return []
    with open_ledger(path, read_only=True) as ledger:
        return ledger.rounds()


def overview_of(path):
    with open_ledger(path, read_only=True) as ledger:
        return ledger.overview()


def train(here, path, n_rounds):
    config = {"ledger": str(path), "checkpoint": str(here.folder / "training.npz")}
    here.start_run(app=APP, drill=True, nodes=N_NODES, watch=True, rounds=n_rounds, **config)


def open_monitor(here, path, chromium):
    """Start the monitor before there is a ledger; return its address, the page in a browser, its errors."""
    here.start("monitor", HOLDFAST, "monitor", "--ledger", str(path), "--port", "0")
    here.wait(lambda: "Stop with" in here.log("monitor"), "the monitor to listen")
    url = re.search(r"http://127\.0\.0\.1:\d+/", here.log("monitor"))[0]
    page, errors = chromium.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    wait_for(page, ".sentence", "No round has ended yet.")
    return url, page, errors


def wait_for(page, place, text, limit=RUN_LIMIT):
    page.locator(place, has_text=text).wait_for(timeout=1000 * limit)


def check_monitor(url, page, attackers):
    """Look at the page, which nobody touched, and at the numbers for Prometheus while the training runs."""
    from prometheus_client.parser import text_string_to_metric_families

    wait_for(
        page,
        ".sentence",
        f"{len(ATTACKERS)} of {N_NODES} nodes vote together against all others and are expelled",
    )
    assert page.locator("#status").inner_text().startswith("Live.")
    rows = [row.get_attribute("data-client") for row in page.locator(".strip").all()]
    assert sorted(rows[: len(attackers)]) == sorted(map(str, attackers))
    assert page.locator(".map .client.expelled:not([hidden])").count() == len(attackers)
    with urlopen(f"{url}metrics") as answer:
        families = [*text_string_to_metric_families(answer.read().decode())]
    samples = [one for family in families for one in family.samples]
    numbers = {one.name: one.value for one in samples if not one.labels}
    assert 1 <= numbers["holdfast_round"] <= N_PLANNED
    accused = [int(one.labels["client"]) for one in samples if one.name == "holdfast_accused_since_round"]
    assert sorted(accused) == attackers
    standings = {one.labels["standing"]: one.value for one in samples if one.name == "holdfast_clients"}
    assert (standings["expelled"], standings["suspected"]) == (len(attackers), 0)


def check_ban(here, path, node):
    """Ban a node by command while the training runs: the next round does without it."""
    said = command("clients", "ban", node, "--ledger", path, "--why", "planted a backdoor", "--by", "ann")
    assert f"client {node} is banned" in said
    banned_after = rounds_in(path)[-1]["round"]
    here.wait(lambda: rounds_in(path)[-1]["round"] >= banned_after + 2, "two more rounds", RUN_LIMIT)
    with open_ledger(path, read_only=True) as ledger:
        found = ledger.client(node)
    assert found["banned"]
    later = [one for one in found["entries"] if one["round"] > banned_after]
    # Whoever was asked before the ban, in the round that was under way, is dropped with the reason.
    assert all((one["code"], one["used"]) == (Code.BANNED, False) for one in later)
    assert max([one["round"] for one in later], default=0) <= banned_after + 1
    assert banned_after + 2 not in [one["round"] for one in found["entries"]]  # it is not asked again
    assert "after round" in command("clients", "show", node, "--ledger", path)


def kill_server(here, path):
    """Kill the ServerApp in the middle of its training, and return what the ledger has then."""
    for pid in here.serving():
        os.kill(pid, signal.SIGKILL)
    here.wait(lambda: not here.serving(), "the ServerApp to end")
    here.wait(lambda: here.started["run"].poll() is not None, "the run to end", RUN_LIMIT)
    assert verify(path).holds, verify(path)
    return rounds_in(path)


def check_tampering(path, folder):
    """Edit copies of the ledger, each in one place: the audit names it."""
    assert "holds; its head is" in command("clients", "audit", "--ledger", path)
    for number, (name, old, new) in enumerate(
        [("federation.audit.jsonl", b'"aggregated":1', b'"aggregated":0'), ("federation.db", b"ann", b"bob")]
    ):
        copy = folder / f"copy{number}"
        copy.mkdir()
        for file in path.parent.glob("federation.*"):
            shutil.copy(file, copy)
        edited = copy / name
        assert old in edited.read_bytes()
        edited.write_bytes(edited.read_bytes().replace(old, new))
        command("clients", "audit", "--ledger", copy / path.name, code=3)


@needs_engines
def test_an_operator_sees_decides_and_proves_while_a_federation_trains(tmp_path, chromium):
    path = tmp_path / "ledger" / "federation.db"
    with federation(tmp_path, tls=Security(tmp_path, N_NODES), n_nodes=N_NODES) as here:
        here.start_superlink()
        here.register(range(N_NODES))
        ids = start_nodes(here, range(N_NODES))
        attackers = sorted(ids[number] for number in ATTACKERS)
        url, page, errors = open_monitor(here, path, chromium)
        train(here, path, N_PLANNED)

        here.wait(
            lambda: path.exists() and overview_of(path)["n_expelled"] == len(ATTACKERS),
            "the verdicts, while the training runs",
            RUN_LIMIT,
        )
        assert here.started["run"].poll() is None
        said = command("clients", "list", "--ledger", path, "--only", "named")
        assert sorted(map(int, re.findall(r"^(\d+) +expelled", said, re.M))) == attackers
        check_monitor(url, page, attackers)
        assert here.started["run"].poll() is None
        check_ban(here, path, attackers[0])
        wait_for(page, f".strip[data-client='{attackers[0]}'] .banned", "banned")
        wait_for(page, "#lists", "planted a backdoor")

        before = kill_server(here, path)
        last = before[-1]["round"] + 2
        assert last < N_PLANNED
        train(here, path, last)
        said, result, _ = here.result()
        assert f"Resuming after round {before[-1]['round']}" in said or (
            f"Resuming after round {before[-1]['round'] - 1}"
            in said  # killed before its checkpoint was there
        )
        assert re.search(r"INFO *: *round \d+: \d+ of \d+ nodes used", said)
        after = rounds_in(path)
        assert [one["round"] for one in after] == [*range(1, last + 1)]
        assert [one["model_after"] for one in after[: len(before)]] == [one["model_after"] for one in before]
        assert all(one["model_after"] == two["model_before"] for one, two in pairwise(after))
        assert attackers[0] not in result["train"][str(last)]["holdfast-nodes"]
        assert after[-1]["accuracy"] > 0.95
        assert after[-1]["attack_success"] < 0.05

        wait_for(page, "#status", f"Finished. All {last} rounds are done")
        check_tampering(path, tmp_path)
        checkpoint = tmp_path / "training.npz"
        command("rewind", "--ledger", path, "--checkpoint", checkpoint, "--to", last - 2)
        assert [one["round"] for one in rounds_in(path)] == [*range(1, last - 1)]
        assert verify(path).holds
        wait_for(page, "#status", f"Round {last - 2} of {last} ended")
        assert errors == []
        page.close()
        here.stop()
        assert here.alive() == []
