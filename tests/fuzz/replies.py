"""Replies that are wrong in ways nobody wrote down: a finite model, and no honest node pays for it."""

import json

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAdam

from holdfast import factions, fedavg, invariant, krum, rfa, sparsefed
from holdfast.flower import Robust

from ..flower.hostile import HOSTILE, ODD_METRICS
from ..flower.nodes import Federation, arrays_in, honest, model, record, trained
from .damage import mutated
from .rounds import pick

RULES = [fedavg, invariant, rfa, krum(n_malicious=3), sparsefed(kept=0.2)]
BEHAVIOURS = [*(behave for behave, _ in HOSTILE.values()), *ODD_METRICS.values()]
NUMBERS = [0, 1, -1, 7, 10**9, 2**63, 10**400, 0.0, -0.0, 1e308, 5e-324, float("nan"), float("inf"), -1e308]
TYPES = [np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_, np.complex128, "S3", "U2", "M8[s]"]


def some_values(rng, shape):
    dtype = pick(rng, TYPES)
    if rng.random() < 0.3:
        shape = tuple(int(side) for side in rng.integers(0, 5, rng.integers(0, 4)))
    values = np.asarray(rng.normal(0, 10.0 ** rng.integers(-40, 30), shape))
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind in "SUM":
            return np.zeros(shape, dtype)
        if rng.random() < 0.2:
            values = np.where(rng.random(shape) < 0.5, np.nan, values)
        return np.asarray(np.nan_to_num(values) if np.dtype(dtype).kind in "iub" else values).astype(dtype)


def some_array(rng, own):
    array = Array(some_values(rng, own.shape) if rng.random() < 0.5 else own)
    for _ in range(rng.integers(0, 3)):
        kind = rng.integers(4)
        if kind == 0:
            array.data = mutated(rng, array.data)
        elif kind == 1:
            array.dtype = str(rng.choice(["float32", "float64", "object", "", "V8", "int64"]))
        elif kind == 2:
            array.shape = tuple(int(side) for side in rng.integers(-2, 9, rng.integers(0, 4)))
        else:
            array.stype = str(rng.choice(["numpy.ndarray", "", "pickle", "numpy.npz"]))
    return array


def some_metrics(rng):
    found = {"num-examples": 10, "train_loss": 0.5}
    for key in ("num-examples", "train_loss", "holdfast-used", "more"):
        if rng.random() < 0.3:
            value = pick(rng, NUMBERS)
            found[key] = [value] * int(rng.integers(0, 3)) if rng.random() < 0.3 else value
    if rng.random() < 0.2:
        found.pop(str(rng.choice(list(found))))
    return MetricRecord(found)


def fuzzed(rng):
    """Return a behaviour that replies something nobody should."""

    def behave(message):
        if message.metadata.message_type == "evaluate":
            return RecordDict({"metrics": some_metrics(rng)})
        if rng.random() < 0.2:
            return pick(rng, BEHAVIOURS)(message)
        if rng.random() < 0.05:
            return Error(int(rng.integers(9)), rng.bytes(20).decode("latin1"))
        arrays = ArrayRecord()
        for name, own in trained(message.metadata.dst_node_id).items():
            draw = rng.random()
            if draw < 0.05:
                continue
            arrays[name] = Array(own) if draw < 0.7 else some_array(rng, own)
        if rng.random() < 0.1:
            arrays[rng.bytes(4).decode("latin1")] = Array(np.ones(2))
        reply = RecordDict({"arrays": arrays, "metrics": some_metrics(rng)})
        if rng.random() < 0.1:
            reply[str(rng.integers(3))] = ConfigRecord() if rng.random() < 0.5 else some_metrics(rng)
        if rng.random() < 0.05:
            del reply[str(rng.choice(list(reply)))]
        return reply

    return behave


def attack(rng, folder):
    """Train and evaluate two rounds with some honest nodes and some that reply anything."""
    n, n_bad = int(rng.integers(1, 16)), int(rng.integers(1, 16))
    strategy = some_strategy(rng)
    federation = Federation(
        {node: fuzzed(rng) for node in range(n_bad)} | dict.fromkeys(range(n_bad, n_bad + n), honest),
        nodes=(),
    )
    arrays, outcome = record(model()), "not aggregated"
    for number in (1, 2):
        messages = strategy.configure_train(number, arrays, ConfigRecord(), federation)
        found, metrics = strategy.aggregate_train(number, federation.send_and_receive(messages))
        check_model(found)
        if metrics["holdfast-aggregated"]:
            outcome = "aggregated"
            assert metrics["holdfast-used"] + metrics["holdfast-dropped"] == n + n_bad
            assert set(range(n_bad, n_bad + n)) <= set(metrics["holdfast-nodes"]), (
                "an honest node was dropped"
            )
        else:
            assert found is arrays
        assert np.isfinite(metrics.get("train_loss", 0.0))
        json.dumps(dict(metrics), allow_nan=False)
        arrays = found
        messages = strategy.configure_evaluate(number, arrays, ConfigRecord(), federation)
        evaluated = strategy.aggregate_evaluate(number, federation.send_and_receive(messages)) or {}
        assert abs(evaluated.get("accuracy", 0.8) - 0.8) < 1e-9
    return outcome


def some_strategy(rng):
    options = {"inner": FedAdam()} if rng.random() < 0.2 else {}
    watch = factions(hearing=0) if rng.random() < 0.3 else None
    return Robust(pick(rng, RULES), watch=watch, **options)


def check_model(found):
    """Raise unless this is a model of the server's form that can be trained on."""
    for name, values in arrays_in(found).items():
        assert np.isfinite(values).all(), name
        assert values.dtype == model()[name].dtype
        assert values.shape == model()[name].shape
    assert (found["bn.running_var"].numpy() >= 0).all()
