"""The compiled loops and the same loops as plain Python say the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import json, sys
from dataclasses import replace
import numpy as np
from holdfast.updates import rows_of
from holdfast.defending.screening import fitting
from tests.rules import RULES, call
rng = np.random.default_rng(0)
results = {}
for dtype in (np.float16, np.float32, np.float64):
    matrix = rng.normal(size=(9, 150)) + 0.3
    layers = [[row[:60].astype(dtype), row[60:].astype(np.float32)] for row in matrix]
    flat = [np.concatenate(client).astype(dtype) for client in layers]
    for rule in RULES:
        rows = replace(fitting(flat, base=flat[0] * 0 + dtype(0.25)).rows, explain=True)
        result = call(rule, rows)
        said = result.diagnostics
        measured = [result.update, said.opposed_share, said.cosines, said.consistency]
        results[f"{rule.name} {dtype.__name__}"] = [values.tolist() for values in measured]
    results[dtype.__name__] = np.asarray(call(RULES[0], rows_of(layers)).update[0]).tolist()
print(json.dumps(results))
"""


def outcome(**environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
    )
    return json.loads(done.stdout)


def test_python_and_compiled_code_give_the_same_bits():
    compiled, plain = outcome(), outcome(NUMBA_DISABLE_JIT="1")
    assert compiled.keys() == plain.keys()
    for name in compiled:
        assert compiled[name] == plain[name], name
