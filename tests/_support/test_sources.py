"""What a function does, as a digest: every edit that changes it counts, and nothing else does."""

import importlib
import os
import subprocess
import sys

import numpy as np
import pytest

from holdfast import median
from holdfast._support.sources import source_digest

#: A file of a user's own, in which `chosen` uses something of every kind.
MINE = """
import argparse, enum, functools, os.path, threading, types
from dataclasses import dataclass
from pathlib import Path
import numpy as np
import helpers
import package.inner
from helpers import scaled
from holdfast import median
from holdfast.core import bind

HERE = Path(__file__).parent
SHARE = 0.5
NAMES = {"a", "b", "c", "d"}
TABLE = {"x": [1, 2, (3, None)]}
WEIGHTS = np.arange(4.0)
OBJECTS = np.array([1, "two"], dtype=object)
ARGS = argparse.Namespace(rate=0.1)
SPACE = types.SimpleNamespace(size=3)
BEST = median
BOUND = bind(scaled, "craft", factor=2.0)
PART = functools.partial(scaled, factor=3.0)
DEVICE = threading.Lock()
LOOP = [1]
LOOP.append(LOOP)
LOG, CACHE, COUNT = [], {}, 0

class Colour(enum.Enum):
    RED = 1

COLOUR = Colour.RED

@dataclass(frozen=True)
class Config:
    depth: int = 2
    names: tuple = ("a",)

CONFIG = Config()

class Base:
    width = 4
    def wide(self):
        return self.width

class Network(Base):
    __slots__ = ("size",)
    def __init__(self, size=SHARE):
        self.size = size
    @property
    def twice(self):
        return 2 * self.wide()
    @staticmethod
    def plain():
        return even(2)
    @functools.cached_property
    def lazy(self):
        return 1

NETWORK = Network(7)

def even(n):
    return n == 0 or odd(n - 1)

def odd(n):
    return n != 0 and even(n - 1)

def loud(factor):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            return factor * function(*args)
        return wrapper
    return decorate

@loud(2)
def decorated(x):
    return x

@functools.cache
def remembered(x):
    return x + 1

def defaulted(x, y=SHARE):
    return x + y

def not_used():
    return 1

def chosen(updates, *, tau=0.5):
    global COUNT
    COUNT += 1
    LOG.append(tau)
    CACHE[tau] = len(LOG)
    helpers.SEEN.append(tau)
    from package import late
    held = [SHARE, NAMES, TABLE, WEIGHTS, OBJECTS, ARGS, SPACE, BEST, BOUND, PART, DEVICE, LOOP, COLOUR]
    more = [CONFIG, HERE, NETWORK, even, decorated, remembered, defaulted]
    others = [helpers.doubled, package.inner.deep, late.last]
    return lambda: [held, more, others, os.path.join("a"), updates.mean]

def mean():
    return "an attribute's name is not a variable's"

small = lambda x: x + SHARE
"""
HELPERS = """
SCALE = 2
SEEN = []
def scaled(updates, *, factor):
    return updates * factor * SCALE
def doubled(x):
    return scaled(x, factor=2)
def not_used():
    return 1
"""
INNER = "from . import late\nDEPTH = 3\ndef deep():\n    return DEPTH\n"
LATE = "END = 4\ndef last():\n    return END\n"
FILES = {
    "mine.py": MINE,
    "helpers.py": HELPERS,
    "package/__init__.py": "",
    "package/inner.py": INNER.replace("from . import late\n", ""),
    "package/late.py": LATE,
}
NAMES = {"mine", "helpers", "package"}


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return a function that imports the files, some of them edited, and returns the module `mine`."""

    def imported(edits=(), folder=tmp_path / "files"):
        for name, text in FILES.items():
            for _, old, new in (edit for edit in edits if edit[0] == name):
                assert old in text, old
                text = text.replace(old, new)
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        for name in [name for name in sys.modules if name.partition(".")[0] in NAMES]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
        importlib.invalidate_caches()
        return importlib.import_module("mine")

    yield imported
    for name in [name for name in sys.modules if name.partition(".")[0] in NAMES]:
        monkeypatch.delitem(sys.modules, name, raising=False)


COUNTS = {
    "its own body": ("mine.py", "tau]", "2 * tau]"),
    "a number": ("mine.py", "SHARE = 0.5", "SHARE = 0.6"),
    "a type": ("mine.py", "rate=0.1", "rate='0.1'"),
    "a set": ("mine.py", '"d"}', '"e"}'),
    "nested data": ("mine.py", "(3, None)", "(3, 0)"),
    "an array": ("mine.py", "np.arange(4.0)", "np.arange(4.0)[::-1]"),
    "the type of an array": ("mine.py", "np.arange(4.0)", "np.arange(4.0, dtype='f4')"),
    "an array of objects": ("mine.py", '"two"]', '"three"]'),
    "arguments": ("mine.py", "rate=0.1", "rate=0.2"),
    "a name space": ("mine.py", "size=3", "size=4"),
    "which rule": ("mine.py", "from holdfast import median", "from holdfast import fedavg as median"),
    "a setting of a bound function": ("mine.py", "factor=2.0", "factor=2.5"),
    "a setting of a partial": ("mine.py", "factor=3.0", "factor=3.5"),
    "the type of what cannot be read": ("mine.py", "threading.Lock()", "threading.RLock()"),
    "a list that holds itself": ("mine.py", "LOOP = [1]", "LOOP = [2]"),
    "an enumeration": ("mine.py", "RED = 1", "RED = 2"),
    "the default of a dataclass": ("mine.py", "depth: int = 2", "depth: int = 3"),
    "a field of a dataclass": ("mine.py", "Config()", "Config(names=())"),
    "a value in a slot": ("mine.py", "Network(7)", "Network(8)"),
    "a property": ("mine.py", "2 * self.wide", "3 * self.wide"),
    "a static method's helper": ("mine.py", "n == 0 or", "n == 2 or"),
    "a cached property": ("mine.py", "return 1\n\nNETWORK", "return 2\n\nNETWORK"),
    "a base class": ("mine.py", "width = 4", "width = 5"),
    "a base's method": ("mine.py", "return self.width", "return -self.width"),
    "a function that calls back": ("mine.py", "n != 0 and", "n != 1 and"),
    "what is decorated": ("mine.py", "    return x\n", "    return -x\n"),
    "the decorator": ("mine.py", "factor * function", "factor + function"),
    "the decorator's setting": ("mine.py", "@loud(2)", "@loud(3)"),
    "what a cache wraps": ("mine.py", "x + 1", "x + 2"),
    "a default": ("mine.py", "y=SHARE", "y=7"),
    "a function of another file": ("helpers.py", "factor=2)", "factor=3)"),
    "a constant of another file": ("helpers.py", "SCALE = 2", "SCALE = 3"),
    "a module in a package": ("package/inner.py", "DEPTH = 3", "DEPTH = 4"),
    "what is imported when it runs": ("package/late.py", "END = 4", "END = 5"),
}
COUNTS_NOT = {
    "functions that it does not use": (
        "mine.py",
        "def not_used():\n    return 1",
        "def not_used():\n    return 2",
    ),
    "functions of others that it does not use": ("helpers.py", "    return 1", "    return 2"),
    "a variable that is named like an attribute": ("mine.py", "is not a variable's", "is something else"),
    "lines above it": ("mine.py", "\nHERE", "\n# a comment\n\nHERE"),
    "what a class says of itself": ("mine.py", "class Base:\n", 'class Base:\n    """Wide."""\n\n'),
    "the order in a set": ("mine.py", '{"a", "b", "c", "d"}', '{"d", "c", "b", "a"}'),
    "what it changes itself": (
        "mine.py",
        "LOG, CACHE, COUNT = [], {}, 0",
        "LOG, CACHE, COUNT = [1], {1: 2}, 9",
    ),
    "what it changes in another file": ("helpers.py", "SEEN = []", "SEEN = [1]"),
}


@pytest.mark.parametrize("edit", COUNTS.values(), ids=COUNTS)
def test_an_edit_of_anything_that_a_function_uses_changes_its_digest(mine, edit):
    before = source_digest(mine().chosen)
    assert source_digest(mine([edit]).chosen) != before


@pytest.mark.parametrize("edit", COUNTS_NOT.values(), ids=COUNTS_NOT)
def test_an_edit_of_anything_else_does_not(mine, edit):
    before = source_digest(mine().chosen)
    assert source_digest(mine([edit]).chosen) == before


def test_a_digest_is_the_same_in_another_folder_and_process_and_whoever_runs_the_file(mine, tmp_path):
    wanted = source_digest(mine().chosen), source_digest(mine().small)
    elsewhere = tmp_path / "elsewhere" / "deep"
    assert (source_digest(mine([], elsewhere).chosen), source_digest(mine([], elsewhere).small)) == wanted
    tail = "from holdfast._support.sources import source_digest as d\nprint(d(chosen), d(small))"
    (elsewhere / "main.py").write_text(f"{MINE}\n{tail}\n")
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
        done = subprocess.run(
            [sys.executable, elsewhere / "main.py"], capture_output=True, text=True, env=environment
        )
        assert tuple(done.stdout.split()) == wanted, done.stderr


def test_running_a_function_does_not_change_its_digest(mine):
    module = mine()
    before = source_digest(module.chosen)
    module.chosen(np.ones(3))()
    assert (module.COUNT, len(module.LOG), len(module.helpers.SEEN)) == (1, 1, 1)
    assert source_digest(module.chosen) == before


@pytest.mark.parametrize("name", ["SHARE", "WEIGHTS", "CONFIG", "even"])
def test_a_variable_may_change_between_two_calls_without_the_function(mine, name):
    module = mine()
    before = source_digest(module.chosen)
    kept = getattr(module, name)
    setattr(module, name, module.odd if name == "even" else 7)
    assert source_digest(module.chosen) != before
    setattr(module, name, kept)
    assert source_digest(module.chosen) == before
    module.WEIGHTS[0] += 1
    assert source_digest(module.chosen) != before


def test_a_file_that_was_edited_after_it_was_loaded_does_not_count(mine):
    loaded = mine()
    known = source_digest(loaded.even)
    edited = mine([("mine.py", "n == 0 or", "n == 1 or"), ("mine.py", "n != 0 and", "n != 1 and")])
    assert source_digest(loaded.even) == known
    assert source_digest(loaded.odd) != source_digest(edited.odd)


def test_functions_without_a_source_count_by_their_instructions():
    def typed(text):
        space = {"__name__": "__main__"}
        exec(text, space)
        return source_digest(space["f"])

    one = "SIZE = 2\ndef f(x):\n    return x * SIZE if x in {'a', 'b', 'c'} else None"
    assert typed(one) == typed(one)
    assert typed(one) != typed(one.replace("'c'", "'d'"))
    assert typed(one) != typed(one.replace("SIZE = 2", "SIZE = 3"))
    code = (
        "from holdfast._support.sources import source_digest\n"
        f"space = {{'__name__': '__main__'}}\nexec({one!r}, space)\nprint(source_digest(space['f']))"
    )
    for seed in ("0", "1"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
        )
        assert done.stdout.strip() == typed(one)


def test_two_lambdas_of_one_line_are_not_the_same():
    first, second = lambda x: x + 1, lambda x: x + 2
    assert source_digest(first) != source_digest(second)


def test_code_of_libraries_counts_by_name_and_is_not_followed(monkeypatch):
    with_median, with_mean = (lambda x: np.median(x)), (lambda x: np.mean(x))
    assert source_digest(with_median) != source_digest(with_mean)
    before = source_digest(median.function), source_digest(with_median)
    monkeypatch.setattr(sys.modules[median.function.__module__], "kernels", None)
    monkeypatch.setattr("numpy.median", np.mean)
    assert (source_digest(median.function), source_digest(with_median)) == before
