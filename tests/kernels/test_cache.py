"""Machine code on disk: never that of other sources, never damaged, and never another result."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast

LENGTH = """
import numpy as np
from holdfast import kernels
from holdfast.updates import rows_of
print(kernels.squared_norms(rows_of(np.ones((1, 4), dtype=np.float16)))[0])
from holdfast.kernels._sums import projections
print(sum(projections.stats.cache_hits.values()))
"""
BITS = """
from dataclasses import replace
import numpy as np
from holdfast import kernels
from holdfast.updates import rows_of
rows = rows_of(np.random.default_rng(0).normal(size=(5, 5_000)).astype(np.float32), explain=True)
seen = kernels.trimmed_mean(rows, n_trimmed=1)
squares, dots = kernels.projections(rows, seen.update)
from holdfast.kernels._forms import FLOAT32
from holdfast.kernels._straight import Shape
from holdfast.kernels._tiers import compile_now
compile_now(Shape(5, 1, FLOAT32, is_masked=True, has_base=False))
straight = kernels.trimmed_mean(replace(rows, explain=False), n_trimmed=1, n_votes=3).update
clients = seen.clients
for found in (seen.update, clients.squares, clients.dots, kernels.gram(rows), squares, dots, straight):
    print(found.tobytes().hex())
"""

pytestmark = pytest.mark.slow

#: Makes every half twice as large as it is.
CHANGE = ("BIAS = np.uint32(112 << 23)", "BIAS = np.uint32(113 << 23)")
COMPILED, LOADED = ["4.0", "0"], ["4.0", "1"]


def start(script, package, **environment):
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env={**inherited, "PYTHONPATH": str(package.parent), **environment},
        cwd=package.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    return out.split(), err


def run(script, package, **environment):
    return finished(start(script, package, **environment))


def replace(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def machine_code(package):
    return sorted((package / "kernels" / "__pycache__").glob("*.nb*"))


@pytest.fixture
def package(tmp_path):
    """A copy of the package, with nothing compiled."""
    compiled = shutil.ignore_patterns("*.nb*")
    return Path(shutil.copytree(Path(holdfast.__file__).parent, tmp_path / "holdfast", ignore=compiled))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    package = tmp_path_factory.mktemp("original") / "holdfast"
    shutil.copytree(Path(holdfast.__file__).parent, package, ignore=shutil.ignore_patterns("*.nb*"))
    assert run(LENGTH, package) == (COMPILED, "")
    return package


@pytest.fixture
def compiled_package(original, tmp_path):
    """A copy of the package with one loop compiled."""
    return Path(shutil.copytree(original, tmp_path / "compiled" / "holdfast"))


def test_a_change_in_a_function_that_is_called_is_noticed(compiled_package):
    assert run(LENGTH, compiled_package) == (LOADED, "")
    (before,) = machine_code(compiled_package)
    replace(compiled_package / "kernels" / "_blocks.py", *CHANGE)
    assert run(LENGTH, compiled_package) == (["16.0", "0"], "")
    (after,) = machine_code(compiled_package)  # what was compiled before is gone
    assert after.name != before.name


def test_numba_alone_would_run_the_old_code(package):
    ours, numbas = "loop._cache = SourceCache(loop.py_func)", "loop.enable_caching()"
    replace(package / "kernels" / "_cache.py", ours, numbas)
    assert run(LENGTH, package) == (COMPILED, "")
    replace(package / "kernels" / "_blocks.py", *CHANGE)
    assert run(LENGTH, package) == (LOADED, "")


def cut(path):
    path.write_bytes(path.read_bytes()[:-1000])


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def empty(path):
    path.write_bytes(b"")


def test_a_damaged_file_is_compiled_again(compiled_package):
    for damage in (cut, flip, empty):
        (path,) = machine_code(compiled_package)
        damage(path)
        out, said = run(LENGTH, compiled_package)
        assert out == COMPILED
        assert "projections" in said
        assert "is damaged" in said
        assert run(LENGTH, compiled_package) == (LOADED, "")


FULL_DISK = """
import errno, os
from holdfast.kernels import _cache
def write_whole(path, content):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
_cache.write_whole = write_whole
"""


def test_a_damaged_file_on_a_full_disk_is_removed_and_the_loop_compiled(compiled_package):
    (path,) = machine_code(compiled_package)
    empty(path)
    out, said = run(FULL_DISK + LENGTH, compiled_package)
    assert out == COMPILED
    assert said.count("is damaged; it is removed") == 1
    assert said.count("No space left on device") == 1
    assert machine_code(compiled_package) == []
    assert run(LENGTH, compiled_package) == (COMPILED, "")


def test_what_can_neither_be_read_nor_written_is_compiled_in_each_process(compiled_package):
    (path,) = machine_code(compiled_package)
    path.unlink()
    path.mkdir()
    out, said = run(LENGTH, compiled_package)
    assert out == COMPILED
    assert f"cannot read {path.parent}" in said
    assert f"cannot write to {path.parent}" in said


def test_processes_may_compile_at_the_same_time(package):
    processes = [start(LENGTH, package) for _ in range(2)]
    assert {finished(process)[0][0] for process in processes} == {"4.0"}
    assert len(machine_code(package)) == 1
    assert run(LENGTH, package) == (LOADED, "")


def test_without_a_folder_the_loops_are_compiled_in_each_process(package):
    nowhere = "from numba.core.caching import CacheImpl\nCacheImpl._locator_classes = []\n"
    out, said = run(nowhere + LENGTH, package)
    assert out == COMPILED
    assert said.count("compiles its loops anew in each process") == 1


def test_code_compiled_while_the_package_was_updated_is_not_kept(package):
    update = f"open({str(package / 'kernels' / '_blocks.py')!r}, 'a').write('# later')\n"
    meanwhile = LENGTH.replace("print(kernels", f"import holdfast.kernels._sums\n{update}print(kernels")
    assert run(meanwhile, package) == (COMPILED, "")
    assert machine_code(package) == []


def test_no_bit_depends_on_how_or_when_or_for_which_processor_a_loop_was_compiled(package, tmp_path):
    compiled, loaded = run(BITS, package), run(BITS, package)
    assert len(compiled[0]) == 7
    assert loaded == compiled
    other = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_LOOP_VECTORIZE": "0"}
    assert run(BITS, package, NUMBA_CACHE_DIR=str(tmp_path / "other"), **other) == compiled
