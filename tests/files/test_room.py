import gc
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from holdfast import invariant
from holdfast.errors import InputError
from holdfast.files import aggregate_files
from holdfast.files.room import OWN, Room, n_bytes_of

from .rounds import some_models, write_round

SINGLE = np.dtype(np.float32)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1GB", 10**9), ("500MB", 5 * 10**8), ("2 GiB", 2**31), ("0.5tb", 5 * 10**11), ("1000000000", 10**9)],
)
def test_sizes_are_read_as_people_write_them(text, expected):
    assert n_bytes_of(text) == expected


@pytest.mark.parametrize("text", ["", "GB", "1XB", "-1GB", "nan", "1GBGB", "infGB", "0"])
def test_what_is_no_size_is_an_error(text):
    with pytest.raises(InputError, match="written like 500MB or 1GB"):
        n_bytes_of(text)


def test_what_does_not_fit_into_memory_lies_in_a_file_without_a_name(tmp_path):
    room = Room(tmp_path, OWN + 4_000_000)
    first = room.empty(500_000, SINGLE)
    second = room.empty(500_000, SINGLE)
    assert not isinstance(first, np.memmap)
    assert isinstance(second, np.memmap)
    second[:] = 7
    assert second.sum() == 3_500_000
    assert list(tmp_path.iterdir()) == []
    del first
    gc.collect()
    assert not isinstance(room.empty(500_000, SINGLE), np.memmap)


def test_too_little_memory_is_an_error_that_says_how_much_is_needed(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    with pytest.raises(InputError, match=r"3 clients need at least \d+MB of memory; got 100MB"):
        aggregate_files(clients, invariant, base=at, out=tmp_path / "next", memory="100MB")


def test_progress_counts_every_cell_of_every_pass(tmp_path):
    base, models = some_models(3, shapes={"w": (20 * 32768 + 5,)})
    at, clients = write_round(tmp_path, base, models)
    seen = []
    aggregate_files(clients, invariant, base=at, out=tmp_path / "next", progress=lambda *s: seen.append(s))
    assert seen[-1] == (1, 21, 21)
    assert [done for _, done, _ in seen] == sorted({done for _, done, _ in seen})


MEASURED = """
import sys
from pathlib import Path
from holdfast import aggregators
from holdfast.files import aggregate_files
from benchmarks.files import AnonymousMemory
folder = Path(sys.argv[1])
clients = sorted((folder / "clients").iterdir())
rule = getattr(aggregators, sys.argv[2])
given = {"base": folder / "base.safetensors", "out": folder / "next", "memory": sys.argv[3], "seed": 1}
if rule.needs("state") or rule.needs("previous"):
    given["state"] = folder / "state"
with AnonymousMemory() as memory:
    for _ in range(2 if "state" in given else 1):
        aggregate_files(clients, rule, **given)
print("peak", memory.peak)
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="anonymous memory is read from Linux's /proc"
)
@pytest.mark.parametrize("rule", ["invariant", "rfa", "weak_dp", "sparsefed", "centered_clipping"])
def test_own_memory_stays_below_what_is_allowed_however_large_the_model(rule, tmp_path):
    rng = np.random.default_rng(0)
    base = {"w": rng.standard_normal(24_000_000, dtype=np.float32)}  # 96 MB; one update more than is allowed
    models = [base, {"w": base["w"] * np.float32(1.5)}, {"w": base["w"] * np.float32(1.25)}]
    write_round(tmp_path, base, models)
    script = [sys.executable, "-c", MEASURED, str(tmp_path), rule, "350MB"]
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(script, check=True, capture_output=True, text=True, cwd=root)
    [peak] = re.findall(r"peak (\d+)", done.stdout)
    assert int(peak) < 350_000_000
