"""Straight code comes when it is worth it: nobody waits for it, and no result depends on it."""

import logging
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from holdfast import kernels
from holdfast.kernels import _tiers, passes
from holdfast.kernels._forms import FLOAT32
from holdfast.kernels._straight import Shape
from holdfast.updates import rows_of

SENT = np.random.default_rng(0).normal(size=(11, 2_000)).astype(np.float32)
SHAPE = Shape(11, 2, FLOAT32, is_masked=True, has_base=False)


def aggregated():
    return kernels.trimmed_mean(rows_of(SENT), n_trimmed=2, n_votes=3).update


def finish():
    for thread in threading.enumerate():
        if thread.name == "holdfast compiler":
            thread.join()


@pytest.fixture(autouse=True)
def nothing_compiled(monkeypatch):
    finish()
    monkeypatch.setattr(_tiers, "ENOUGH", SENT.size)
    monkeypatch.setattr(_tiers, "_addresses", {})
    monkeypatch.setattr(_tiers, "_n_values", {})
    monkeypatch.setattr(passes, "_are_loaded", lambda name: True)
    yield
    finish()


def test_an_unseen_number_of_clients_never_waits_and_the_next_call_finds_the_code():
    with _tiers._compiling:  # so that nothing can be compiled
        first = aggregated()
        assert _tiers._addresses == {SHAPE: 0}
    finish()
    assert _tiers._addresses[SHAPE] != 0
    assert aggregated().tobytes() == first.tobytes()


def test_the_code_that_is_there_is_what_runs():
    plain = aggregated()
    finish()
    _tiers._addresses[SHAPE] = _tiers.compile_now(SHAPE._replace(n_trimmed=5))  # the median instead
    assert aggregated().tobytes() != plain.tobytes()


def test_where_the_loops_are_not_loaded_the_code_is_compiled_at_once(monkeypatch):
    expected = aggregated()
    finish()
    _tiers._addresses.clear()
    monkeypatch.setattr(passes, "_are_loaded", lambda name: False)
    monkeypatch.setattr(_tiers, "ENOUGH", 1 << 40)
    assert aggregated().tobytes() == expected.tobytes()
    assert _tiers._addresses[SHAPE] != 0
    many = SHAPE._replace(n_rows=_tiers.MOST_AT_ONCE + 1)
    assert _tiers.address_of(many, n_values=1, at_once=True) == 0


def test_little_work_is_not_worth_it_but_adds_up(monkeypatch):
    monkeypatch.setattr(_tiers, "ENOUGH", 3 * SENT.size)
    for _ in range(2):
        aggregated()
        assert _tiers._addresses == {}
    aggregated()
    assert SHAPE in _tiers._addresses


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("HOLDFAST_STRAIGHT", "0")
    aggregated()
    assert _tiers._addresses == {}
    monkeypatch.delenv("HOLDFAST_STRAIGHT")
    _tiers.compile_now(SHAPE)
    assert _tiers.address_of(SHAPE, n_values=1) != 0
    monkeypatch.setenv("HOLDFAST_STRAIGHT", "0")
    assert _tiers.address_of(SHAPE, n_values=1) == 0


def test_many_threads_may_ask_at_once_and_it_is_compiled_once(monkeypatch):
    compiled, made = _tiers._compiled, []
    monkeypatch.setattr(_tiers, "_compiled", lambda shape: made.append(shape) or compiled(shape))
    found = []
    threads = [threading.Thread(target=lambda: found.append(aggregated().tobytes())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    finish()
    assert made == [SHAPE]
    assert set(found) == {aggregated().tobytes()}
    assert len(found) == 8


def test_what_cannot_be_compiled_is_said_and_left_to_the_loops(monkeypatch, caplog):
    def broken(shape, **machine):
        raise RuntimeError("no such instruction")

    monkeypatch.setattr(_tiers, "assembly", broken)
    with caplog.at_level(logging.WARNING, "holdfast"):
        first = aggregated()
        finish()
        assert aggregated().tobytes() == first.tobytes()
    assert [record.getMessage() for record in caplog.records] == [
        "no faster code for 11 clients, the usual code continues: no such instruction"
    ]


BUSY = """
import os, sys, warnings
import numpy as np
from holdfast.kernels import _tiers, trimmed_mean
from holdfast.kernels._forms import FLOAT32
from holdfast.kernels._straight import Shape
from holdfast.updates import rows_of
warnings.simplefilter("ignore")  # some versions of Python warn of every fork
for n in (60, 80, 100):  # takes long enough to be interrupted
    _tiers.address_of(Shape(n, 20, FLOAT32, True, False), n_values=1 << 30)
"""
FORK = """
child = os.fork()
rows = rows_of(np.ones((4, 300), dtype=np.float32))
shape = Shape(4, 1, FLOAT32, False, False)
if child == 0:
    assert all(_tiers._addresses.values())
    _tiers.compile_now(shape)
    os._exit(int(trimmed_mean(rows, n_trimmed=1).update.sum() != 300))
assert trimmed_mean(rows, n_trimmed=1).update.sum() == 300
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("then", ["", FORK], ids=["ended", "copied"])
def test_a_process_may_be_ended_and_copied_while_code_is_compiled(then):
    environment = {name: value for name, value in os.environ.items() if name != "HOLDFAST_STRAIGHT"}
    done = subprocess.run(
        [sys.executable, "-c", BUSY + then], env=environment, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
