"""The page on Flower: its code runs, and its tables list what there is."""

import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Context, RecordDict

from holdfast import factions, fedavg, invariant
from holdfast.flower import Code, Robust

from .nodes import Federation, arrays_in, model, one_round, record

PAGE = Path(__file__).parents[2] / "docs" / "flower.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no docs beside the tests")


def blocks():
    """Return the code of the page, from the stock app on; test_as_typed runs what comes before."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text().partition("\n## From a stock app")[2], re.S)


def test_the_defended_app_runs_as_it_stands(capsys):
    given = {name: np.asarray(values) for name, values in model().items()}
    names = {"initial_arrays": lambda: dict(record(given))}
    exec(blocks()[0], names)
    context = Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config={})
    names["main"](Federation(nodes=range(10)), context)
    assert "5 replies were used in the last round" in capsys.readouterr().out


def test_the_other_examples_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec("from holdfast.flower import Robust\n", names := {})
    names |= {"grid": Federation(nodes=range(10)), "arrays": record(model())}
    for block in blocks()[1:]:
        exec(block, names)
        strategy = names["strategy"]
        if strategy.checkpoint is not None and not strategy.resume:  # the page has trained with it already
            continue
        result = strategy.start(Federation(nodes=range(10)), record(model()), num_rounds=31)
        assert result.train_metrics_clientapp[31]["holdfast-aggregated"] == 1
        assert np.isfinite(arrays_in(result.arrays)["fc.weight"]).all()
    assert "round 30: 10 clients heard" in capsys.readouterr().out
    assert (tmp_path / "training.npz").exists()


def test_the_table_of_codes_is_the_codes():
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", PAGE.read_text(), re.M)
    assert {name: int(number) for number, name in rows} == {code.name: code.value for code in Code}


def test_every_metric_and_argument_is_explained():
    strategies = Robust(invariant), Robust(fedavg), Robust(fedavg, watch=factions())
    metrics = {key for strategy in strategies for key in one_round(strategy)[1]}
    text = PAGE.read_text()
    for key in metrics:
        assert key == "train_loss" or key.startswith("holdfast-median-") or f"`{key}`" in text, key
    for name in inspect.signature(Robust).parameters.keys() - {"sampling"}:
        assert f"`{name}`" in text, name
