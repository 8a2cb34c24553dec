"""A training that is watched has the same bits for any number of threads, ours or those of OpenBLAS."""

import os
import subprocess
import sys

import pytest

TRAINING = """
import hashlib, json
import numpy as np
from holdfast import defend, factions, trimmed_mean
from tests.watching.federation import Federation

digest = hashlib.sha256()
for n, n_plotters, dim in ((40, 7, 3000), (530, 60, 300)):
    federation = Federation(n=n, dim=dim, n_plotters=n_plotters)
    model, state = np.zeros(dim, np.float32), None
    for number in range(5):
        models, rng = model + federation.updates(), np.random.default_rng(1)
        watch = factions(hearing=1, sample=2048)
        result = defend(
            models, trimmed_mean(alpha=0.1), base=model, clients=range(n), watch=watch, state=state, rng=rng
        )
        model, state = result.model, result.state
        digest.update(model.tobytes())
        digest.update(json.dumps(result.verdicts.as_dict()).encode())
        for values in state.watch.as_arrays().values():
            digest.update(values.tobytes())
    assert set(result.verdicts.of("expelled")) == set(range(n_plotters))
print(digest.hexdigest())
"""


def digest(**settings):
    done = subprocess.run(
        [sys.executable, "-c", TRAINING],
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_no_number_of_threads_changes_a_bit():
    ours = {digest(HOLDFAST_THREADS=n, OPENBLAS_NUM_THREADS="1") for n in ("1", "2", "4")}
    blas = {digest(HOLDFAST_THREADS="1", OPENBLAS_NUM_THREADS="2")}
    assert len(ours | blas) == 1
