"""A training that is stopped and resumed from stored arrays is the training that was not."""

import numpy as np
import pytest

from holdfast import defend, factions, median, sparsefed
from holdfast._support.arrays import read_arrays, write_arrays
from holdfast.aggregators import nnm
from holdfast.core import Memory
from holdfast.watching.states import memory_arrays, restored_memory

from .federation import Federation

WATCH = factions(hearing=1)


def model_with_buffers():
    return {"w": np.zeros(350, np.float32), "half": np.ones(50, np.float16), "bn.running_mean": np.zeros(2)}


def trained(n_rounds, passed_on, rule=median):
    """Return the models of all rounds and the last memory; `passed_on` is done to it between rounds."""
    federation, model, state, models = Federation(n=30, push=3.0), model_with_buffers(), None, []
    for number in range(n_rounds):
        federation.plotters = tuple(range(5)) if number > 2 else ()
        sent = {}
        for client, update in enumerate(federation.updates()):
            parts = {
                "w": update[:350],
                "half": update[350:].astype(np.float16),
                "bn.running_mean": update[:2],
            }
            sent[f"c{client}"] = {name: values + parts[name] for name, values in model.items()}
        result = defend(sent, rule, base=model, watch=WATCH, state=state, rng=np.random.default_rng(7))
        model, state = result.model, passed_on(result.state)
        models.append(b"".join(np.asarray(values).tobytes() for values in model.values()))
    return models, state


@pytest.mark.parametrize("rule", [median, sparsefed], ids=str)
def test_stored_and_restored_between_all_rounds_a_training_has_the_same_bits(rule, tmp_path):
    def through_a_file(memory):
        write_arrays(tmp_path / "state.npz", memory_arrays(rule, memory))
        return restored_memory(rule, read_arrays(tmp_path / "state.npz"))

    straight, state = trained(12, lambda memory: memory, rule)
    assert trained(12, through_a_file, rule)[0] == straight
    assert state.watch.n_rewinds  # there was something to remember


def test_the_state_of_a_rule_behind_another_comes_back():
    chosen = nnm(n_malicious=1, rule=sparsefed)
    memory = defend(np.eye(5), chosen).state
    assert memory.rule.error.any()
    again = restored_memory(chosen, memory_arrays(chosen, memory)).rule
    np.testing.assert_array_equal(again.error, memory.rule.error)


def test_all_parts_of_a_memory_come_back():
    _, memory = trained(4, lambda memory: memory, sparsefed)
    assert memory.start is not None
    again = restored_memory(sparsefed, memory_arrays(sparsefed, memory))
    assert again.watch.clients == memory.watch.clients
    assert set(again.start) == set(memory.start)
    for name, values in memory.start.items():
        np.testing.assert_array_equal(again.start[name], values)
    np.testing.assert_array_equal(again.rule.error, memory.rule.error)


def test_nothing_remembered_is_nothing_stored():
    assert memory_arrays(median, Memory()) == {}
    empty = restored_memory(median, {})
    assert (empty.watch, empty.start, empty.rule) == (None, None, None)


@pytest.mark.parametrize("part", ["watch.rows", "watch.clients", "watch.counts", "watch.evidence"])
def test_half_a_memory_is_none(part):
    arrays = memory_arrays(median, trained(2, lambda memory: memory)[1])
    with pytest.raises(ValueError, match="no memory of clients"):
        restored_memory(median, {name: values for name, values in arrays.items() if name != part})
    with pytest.raises(ValueError, match="no memory of clients"):
        restored_memory(median, {**arrays, part: arrays[part].astype(np.complex128)})
