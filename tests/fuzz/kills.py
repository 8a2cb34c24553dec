"""Processes that are killed while they write: the old output or the new one, and nothing left over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from holdfast import median
from holdfast.files import aggregate_files, load_tensors
from holdfast.ledger import open_ledger, verify
from holdfast.runs.checkpoints import load_checkpoint
from holdfast.runs.store import files_of

from ..files.rounds import assert_same as assert_same_model
from ..files.rounds import in_memory, sharded, some_models, write_round
from ..runs.killed import RUN
from ..runs.tiny import assert_same, made
from .rounds import pick

ROOT = Path(__file__).parent.parent.parent


def attack(rng, folder):
    """Kill one process, or several one after the other."""
    return pick(rng, [aggregation, aggregation, run, ledger])(rng, folder)


def aggregation(rng, folder):
    """Kill an aggregation of files while it writes, and do it again."""
    is_sharded = bool(rng.random() < 0.5)
    base, models = some_models(3, shapes={"a": (300_000,), "b": (100,), "c": (100,)})
    at, clients = write_round(folder, base, models)
    out = folder / "next.safetensors"
    if is_sharded:
        at, out = sharded(folder / "base", base), sharded(folder / "next", models[0])
    else:
        out.write_bytes(clients[0].read_bytes())
    expected, _ = in_memory(base, models, median)
    command = [sys.executable, "-m", "tests.files.killed", str(folder), "folder" if is_sharded else "file"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as process:
        for _ in range(rng.integers(1, 4)):
            assert process.stdout.readline() == b"writing\n"
        time.sleep(rng.uniform(0, 0.5))
        process.send_signal(signal.SIGKILL)
    outcome = check_either(out, models[0], expected)
    aggregate_files(clients, median, base=at, out=out)
    assert_same_model(out, expected)
    assert not list(folder.rglob("*.partial")), "something is left over"
    return outcome


def check_either(out, old, new):
    """Return which of two models the output is, whole."""
    found = load_tensors(out)
    is_old = all(found[name].tobytes() == old[name].tobytes() for name in old)
    assert_same_model(out, old if is_old else new)
    return "old output" if is_old else "new output"


def run(rng, folder):
    """Kill a run three times, resume it, and compare it with one that was left alone."""
    command = [sys.executable, "-m", "tests.runs.killed", str(folder / "parts")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    reached = [0]
    with subprocess.Popen(command, cwd=ROOT, **pipes) as nursery:
        for _ in range(3):
            print("go", file=nursery.stdin, flush=True)
            pid = int(nursery.stdout.readline())
            assert nursery.stdout.readline() == "begun\n"
            time.sleep(rng.uniform(0, 0.1))
            os.kill(pid, signal.SIGKILL)
            nursery.stdout.readline()  # it has ended
            path = files_of(RUN.key, folder / "parts").checkpoint
            reached.append(load_checkpoint(path, RUN).round if path.exists() else reached[-1])
    assert reached == sorted(reached), "a later state was lost"
    made(RUN, folder / "whole", every=10)
    made(RUN, folder / "parts")
    assert_same(RUN, folder / "whole", folder / "parts")
    assert not list((folder / "parts").glob("*.partial")), "something is left over"
    return "run resumed"


def ledger(rng, folder):
    """Kill whoever writes a ledger, three times: no round that it told of is lost, and the chain holds."""
    path, told = folder / "federation.db", 0
    for _ in range(3):
        command = [sys.executable, "-m", "tests.ledger.killed", str(path)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(rng.integers(1, 4)):
                told = int(process.stdout.readline())
            time.sleep(rng.uniform(0, 0.03))
            process.send_signal(signal.SIGKILL)
            told = int([told, *process.stdout.read().split()][-1])
        assert verify(path).holds, verify(path)  # as it was left
        with open_ledger(path) as opened:
            numbers = [one["round"] for one in opened.rounds()]
            assert numbers in ([*range(1, told + 1)], [*range(1, told + 2)]), (told, numbers)
            with opened.snapshot() as connection:
                assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
                assert connection.execute("SELECT count(*) FROM outbox").fetchone()[0] == 0
        assert verify(path).holds, verify(path)
    return "ledger continued"
