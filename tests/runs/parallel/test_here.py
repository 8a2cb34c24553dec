"""Runs of functions that no worker process could import."""

import logging
import os
import subprocess
import sys
from functools import partial

from holdfast import median
from holdfast.lab.data import digits
from holdfast.runs.parallel import make_runs
from holdfast.runs.parallel.here import travels

from ..tiny import tiny_run

TYPED_IN = """
import tempfile
from pathlib import Path
import numpy as np
from holdfast import Aggregate, rule
from holdfast.runs.parallel import make_runs
from tests.runs.tiny import tiny_run

@rule
def middle(updates):
    return Aggregate(np.median(np.asarray(updates), axis=0))

run = tiny_run(middle, n_rounds=1)
folder = Path(tempfile.mkdtemp())
steps = list(make_runs([run], folder, n_workers=2))
print(steps[-1].finished, len(list(folder.glob("*.json"))))
"""


def test_a_run_of_a_lambda_is_made_in_this_process(tmp_path, caplog):
    run = tiny_run(n_rounds=1)
    same = run.task.data
    run = run.replace(data=lambda: same())
    assert not travels(run)
    with caplog.at_level(logging.WARNING, "holdfast"):
        steps = list(make_runs([run, tiny_run(n_rounds=1)], tmp_path, n_workers=2))
    assert {step.key for step in steps if step.finished} == {run.key, tiny_run(n_rounds=1).key}
    assert "put the functions in a file" in caplog.text


def test_a_rule_that_is_not_what_its_module_has_by_this_name_stays_here():
    def local(updates):
        return median(updates)

    assert not travels(tiny_run(local))
    assert not travels(tiny_run(lambda updates: median(updates)))
    local.__qualname__ = "travels"
    assert not travels(tiny_run(local))


def test_what_a_worker_can_import_travels():
    assert travels(tiny_run())
    assert travels(tiny_run().replace(data=partial(digits)))


def test_a_rule_typed_into_an_interpreter_is_run_all_the_same():
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "-c", TYPED_IN], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.split() == ["True", "1"]
    assert "worker processes cannot find them" in done.stderr
