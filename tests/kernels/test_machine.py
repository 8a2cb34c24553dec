"""The compiled loops and the same loops as plain Python say the same."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import json, sys
from dataclasses import replace
import numpy as np
from holdfast.updates import rows_of
from holdfast.screening import fitting
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


def flattened(value):
    return [number for item in value for number in flattened(item)] if isinstance(value, list) else [value]


def test_python_and_compiled_code_agree():
    compiled, plain = outcome(), outcome(NUMBA_DISABLE_JIT="1")
    assert compiled.keys() == plain.keys()
    for name in compiled:
        for x, y in zip(flattened(compiled[name]), flattened(plain[name]), strict=True):
            assert abs(x - y) <= 1e-6 * max(1, abs(x)), name


READ_ONLY = """
import logging
logging.basicConfig(format="%(message)s")
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
import numpy as np
from holdfast import median
print(median(np.array([[1.0], [2.0], [9.0]])).update[0])
"""


def test_without_a_place_for_the_cache_the_loops_are_compiled_all_the_same():
    done = subprocess.run([sys.executable, "-c", READ_ONLY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "2.0"
    assert "compiles its loops anew in each process" in done.stderr
