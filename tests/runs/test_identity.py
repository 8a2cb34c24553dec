"""A result is found again as long as what made it is the same, and never after an edit of any of it."""

import importlib
import sys

import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

from holdfast.core import bind
from holdfast.lab.scenario import Defence, Run
from holdfast.runs.recording import data_checksum, run_and_record
from holdfast.runs.results import list_results

from .tiny import made

MINE = """
import numpy as np, torch
from functools import partial
from holdfast import Aggregate, rule
from holdfast.lab import Task
from holdfast.lab.data import Dataset
from holdfast.lab.training import batched_sgd

WIDTH, SHIFT, PART = 4, 0.0, 0.5

class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers = torch.nn.Linear(3, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, 2)
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)

def points():
    x = np.random.default_rng(0).normal(SHIFT, size=(60, 3))
    y = x.sum(axis=1) > 0
    return Dataset(x[20:], y[20:], x[:20], y[:20])

def shrunk(update):
    return PART * update

@rule
def mine(updates):
    return Aggregate(shrunk(np.mean(np.asarray(updates), axis=0)))

train = partial(batched_sgd, lr=0.2)
task = Task("points", points, Network, train, n_clients=4, n_per_round=4, n_rounds=2, n_root=5)
"""


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Return a function that imports the file, edited, as a new process does."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(old="", new=""):
        (tmp_path / "own_points.py").write_text(MINE.replace(old, new))
        monkeypatch.delitem(sys.modules, "own_points", raising=False)
        importlib.invalidate_caches()
        return importlib.import_module("own_points")

    yield load
    sys.modules.pop("own_points", None)


def run_of(module):
    return Run(module.task, defence=Defence("mine", module.mine))


def rounds_made(run, folder):
    """Return how many rounds it takes to have the result."""
    first, *_ = run_and_record(run, folder)
    return run.task.n_rounds - first.n_done


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("np.mean(np", "np.median(np"),
        ("PART * update", "PART + update"),
        ("PART = 4, 0.0, 0.5", "PART = 4, 0.0, 0.6"),
        ("WIDTH, SHIFT, PART = 4", "WIDTH, SHIFT, PART = 5"),
        ("torch.nn.ReLU", "torch.nn.Tanh"),
        ("sum(axis=1) > 0", "sum(axis=1) > 1"),
    ],
    ids=["rule", "helper", "constant", "of the network", "network", "data"],
)
def test_an_edit_in_the_file_makes_the_run_anew(tmp_path, imported, old, new):
    before = made(run_of(imported()), tmp_path / "runs")
    assert rounds_made(run_of(imported()), tmp_path / "runs") == 0
    edited = run_of(imported(old, new))
    assert rounds_made(edited, tmp_path / "runs") == 2
    after = made(edited, tmp_path / "runs")
    assert [one["diagnostics"] for one in after.records] != [one["diagnostics"] for one in before.records]
    assert len(list_results(tmp_path / "runs")[0]) == 2
    assert rounds_made(run_of(imported()), tmp_path / "runs") == 0  # what was before the edit is still there


@pytest.mark.parametrize(("name", "value"), [("PART", 0.9), ("WIDTH", 6), ("SHIFT", 1.0)])
def test_a_variable_that_changes_in_a_notebook_gives_what_a_new_process_gives(
    tmp_path, imported, name, value
):
    module = imported()
    run = run_of(module).replace(warm_epochs=1)
    before = made(run, tmp_path / "runs")
    setattr(module, name, value)
    after = made(run, tmp_path / "runs")
    fresh = imported()
    setattr(fresh, name, value)
    again = run_of(fresh).replace(warm_epochs=1)
    alone = made(again, tmp_path / "alone")
    assert (after.key, after.data, after.series("accuracy")) == (
        alone.key,
        alone.data,
        alone.series("accuracy"),
    )
    assert [one["diagnostics"] for one in after.records] == [one["diagnostics"] for one in alone.records]
    assert after.key != before.key
    assert (data_checksum(run.task.data) == before.data) == (name != "SHIFT")


class Block:
    size = 3


def stacked(*, block=None, inner=None, names=frozenset()):
    return block


def test_classes_partials_and_sets_as_settings_have_no_address_or_order(monkeypatch):
    from functools import partial

    bound = bind(stacked, "model", block=Block, inner=partial(len), names=frozenset("abc"))
    before = bound.identity
    assert "0x" not in before
    assert "names=frozenset({'a', 'b', 'c'})" in before
    monkeypatch.setattr(Block, "size", 4)
    assert bound.identity != before
