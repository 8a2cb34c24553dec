"""Two thousand replies that are wrong in ways nobody wrote down: no crash, and a finite model always."""

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, MetricRecord, RecordDict

from holdfast import fedavg, invariant, krum, rfa
from holdfast.flower import Robust

from .hostile import HOSTILE
from .nodes import Federation, arrays_in, content, model, record, trained

pytestmark = pytest.mark.slow

N_REPLIES = 2_000
PER_ROUND = 25
NUMBERS = [0, 1, -1, 7, 10**9, 2**63, 10**400, 0.0, -0.0, 1e308, 5e-324, float("nan"), float("inf"), -1e308]
TYPES = [np.float16, np.float32, np.float64, np.int8, np.uint64, np.bool_, np.complex128, "S3", "U2", "M8[s]"]


def mangled(rng, data):
    """Return the bytes with a few of them changed, cut, doubled or moved."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 6)):
        where = int(rng.integers(0, len(data) or 1))
        kind = rng.integers(4)
        if kind == 0 and data:
            data[where % len(data)] = int(rng.integers(256))
        elif kind == 1:
            del data[where:]
        elif kind == 2:
            data[where:where] = rng.bytes(int(rng.integers(1, 40)))
        else:
            data += data[where : where + 200]
    return bytes(data)


def some_values(rng, shape):
    dtype = TYPES[rng.integers(len(TYPES))]
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
            array.data = mangled(rng, array.data)
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
            value = NUMBERS[rng.integers(len(NUMBERS))]
            found[key] = [value] * int(rng.integers(0, 3)) if rng.random() < 0.3 else value
    if rng.random() < 0.2:
        found.pop(str(rng.choice(list(found))))
    return MetricRecord(found)


def fuzzed(rng):
    """Return a behaviour that replies something nobody should."""

    def behave(message):
        if rng.random() < 0.1:
            cases = list(HOSTILE.values())
            return cases[rng.integers(len(cases))][0](message)
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


@pytest.mark.parametrize(
    "rule", [fedavg, invariant, rfa, krum(n_malicious=3)], ids=["fedavg", "invariant", "rfa", "krum"]
)
def test_fuzzed_replies_neither_stop_a_round_nor_spoil_the_model(rule):
    rng = np.random.default_rng(7)
    strategy = Robust(rule)
    base, n_fuzzed, n_used = record(model()), 0, 0
    while n_fuzzed < N_REPLIES // 4:
        n_bad = int(rng.integers(1, PER_ROUND + 1))
        honest = {
            node: lambda m: content(trained(m.metadata.dst_node_id)) for node in range(n_bad, PER_ROUND)
        }
        federation = Federation({node: fuzzed(rng) for node in range(n_bad)} | honest, nodes=())
        messages = strategy.configure_train(1, base, ConfigRecord(), federation)
        arrays, metrics = strategy.aggregate_train(1, federation.send_and_receive(messages))
        for name, values in arrays_in(arrays).items():
            assert np.isfinite(values).all(), name
            assert values.dtype == model()[name].dtype
            assert values.shape == model()[name].shape
        assert (arrays["bn.running_var"].numpy() >= 0).all()
        if metrics["holdfast-aggregated"]:
            assert metrics["holdfast-used"] + metrics["holdfast-dropped"] == PER_ROUND
        else:
            assert arrays is base
        assert np.isfinite(metrics.get("train_loss", 0.0))
        messages = strategy.configure_evaluate(1, arrays, ConfigRecord(), federation)
        strategy.aggregate_evaluate(1, federation.send_and_receive(messages))
        n_fuzzed, n_used = n_fuzzed + n_bad, n_used + metrics["holdfast-used"]
    assert n_used > 0
