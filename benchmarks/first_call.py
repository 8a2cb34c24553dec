"""How long the first call of a rule takes, in a process that has just started."""

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

__all__ = ["first_call"]

# Made without torch or any other peer: nothing is imported that a user of the rule would not import.
CODE = """
import json, sys, time
import numpy as np
rule, n, dim = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
rows = [np.random.default_rng(i).standard_normal(dim, dtype=np.float32) for i in range(n)]
settings = {"n_malicious": n // 4} if rule == "multi_krum" else {}
start = time.perf_counter()
import holdfast
function = getattr(holdfast, rule)
imported = time.perf_counter()
function(rows, **settings)
called = time.perf_counter()
function(rows, **settings)
print(json.dumps([imported - start, called - imported, time.perf_counter() - called]))
"""


def first_call(rule: str, n_clients: int, dim: int, *, n_times: int = 3) -> dict[str, Any]:
    """Return the seconds of a first call with an empty cache of compiled code, and with a filled one.

    The import of holdfast comes before, and its time is given apart; Numba's is part of the first call.
    """
    with tempfile.TemporaryDirectory() as folder:
        times = [_fresh(rule, n_clients, dim, folder) for _ in range(1 + n_times)]
    filled = sorted(times[1:], key=lambda parts: parts[1])[n_times // 2]
    return {
        "import_seconds": filled[0],
        "empty_cache_seconds": times[0][1],
        "filled_cache_seconds": filled[1],
        "second_call_seconds": filled[2],
    }


def _fresh(rule: str, n_clients: int, dim: int, cache: str) -> tuple[float, float, float]:
    command = [sys.executable, "-c", CODE, rule, str(n_clients), str(dim)]
    done = subprocess.run(
        command, env={**os.environ, "NUMBA_CACHE_DIR": cache}, capture_output=True, text=True, check=True
    )
    imported, first, second = json.loads(done.stdout)
    return imported, first, second
