"""Every way to reply that a strategy must not fall for, and the code it must give it."""

import io

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, MetricRecord, RecordDict

from holdfast.flower import Code

from .nodes import arrays_in, content, record, trained


def sent(message):
    return trained(message.metadata.dst_node_id, arrays_in(message.content["arrays"]))


def with_array(name, array):
    """Return a behaviour that replies honestly but for one array."""

    def behave(message):
        arrays = record(sent(message))
        arrays[name] = array
        return content(arrays)

    return behave


def with_values(name, values):
    return with_array(name, Array(np.asarray(values)))


def with_metrics(**metrics):
    return lambda message: content(sent(message), **metrics)


def without(name):
    return lambda message: content({key: value for key, value in sent(message).items() if key != name})


def tampered(**fields):
    """Return a behaviour whose first layer has other fields than np.save's."""
    honest = Array(np.full((4, 3), 1e6, np.float32))
    told = {"dtype": honest.dtype, "shape": honest.shape, "stype": honest.stype, "data": honest.data}
    return with_array("fc.weight", Array(**{**told, **fields}))


def npy(header, numbers=b"\0" * 48, version=b"\x01\x00"):
    size = len(header).to_bytes(2 if version == b"\x01\x00" else 4, "little")
    return b"\x93NUMPY" + version + size + header + numbers


def header(descr="'<f4'", order="False", shape="(4, 3)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n".encode()


def npz():
    """Return a small file that unpacks to a gigabyte."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, np.zeros(1 << 20, np.float32))
    return buffer.getvalue()


def pickled():
    buffer = io.BytesIO()
    np.save(buffer, np.array([[None] * 3] * 4, dtype=object), allow_pickle=True)
    return buffer.getvalue()


def lying_reply(message):
    return RecordDict({"arrays": record(sent(message))})


def two_array_records(message):
    reply = content(sent(message))
    reply["more"] = record(sent(message))
    return reply


def two_metric_records(message):
    reply = content(sent(message))
    reply["more"] = MetricRecord({"num-examples": 10, "train_loss": 0.5})
    return reply


LARGE = np.full((4, 3), 1e6, np.float32)

#: name: (what the node replies to a training message, the code it gets)
HOSTILE = {
    "an error": (lambda message: Error(0, "boom\nINFO: all is well"), Code.ERROR),
    "an error without a reason": (lambda message: Error(3), Code.ERROR),
    "nothing": (lambda message: None, Code.SILENT),
    "no records": (lambda message: RecordDict(), Code.RECORDS),
    "a config only": (lambda message: RecordDict({"arrays": ConfigRecord({"a": 1})}), Code.RECORDS),
    "no metrics": (lying_reply, Code.RECORDS),
    "two ArrayRecords": (two_array_records, Code.RECORDS),
    "two MetricRecords": (two_metric_records, Code.RECORDS),
    "no arrays": (lambda message: content(ArrayRecord()), Code.NAMES),
    "a missing array": (without("fc.weight"), Code.NAMES),
    "a missing buffer": (without("bn.running_var"), Code.NAMES),
    "an extra array": (with_values("fc.more", np.ones(2)), Code.NAMES),
    "another shape": (with_values("fc.weight", LARGE.T), Code.SHAPE),
    "a shape that broadcasts": (with_values("fc.weight", LARGE[:1]), Code.SHAPE),
    "a scalar": (with_values("bn.weight", np.float32(1)), Code.SHAPE),
    "an empty array": (with_values("bn.weight", np.zeros(0, np.float32)), Code.SHAPE),
    "a buffer of another shape": (with_values("bn.running_var", np.ones((4, 1), np.float32)), Code.SHAPE),
    "NaN": (with_values("fc.weight", LARGE * np.nan), Code.VALUES),
    "infinity": (with_values("fc.weight", LARGE * np.inf), Code.VALUES),
    "one NaN": (with_values("bn.weight", np.array([0, 0, np.nan, 0], np.float32)), Code.VALUES),
    "float64 beyond float32": (with_values("fc.weight", np.full((4, 3), 1e300)), Code.VALUES),
    "NaN in a buffer": (with_values("bn.running_mean", np.full(4, np.nan, np.float32)), Code.VALUES),
    "a negative variance": (with_values("bn.running_var", np.full(4, -1, np.float32)), Code.VALUES),
    "a negative counter": (with_values("bn.num_batches_tracked", np.array(-1)), Code.VALUES),
    "integers": (with_values("fc.weight", np.ones((4, 3), np.int64)), Code.TYPE),
    "booleans": (with_values("fc.weight", np.ones((4, 3), bool)), Code.TYPE),
    "complex numbers": (with_values("fc.weight", np.ones((4, 3), np.complex64)), Code.PAYLOAD),
    "extended precision": (with_values("fc.weight", np.ones((4, 3), np.longdouble)), Code.PAYLOAD),
    "text": (with_values("fc.weight", np.full((4, 3), "1.0")), Code.PAYLOAD),
    "dates": (with_values("fc.weight", np.zeros((4, 3), "datetime64[s]")), Code.PAYLOAD),
    "records of a structure": (with_values("fc.weight", np.zeros((4, 3), "f4,f4")), Code.PAYLOAD),
    "a float counter": (with_values("bn.num_batches_tracked", np.array(5.0)), Code.TYPE),
    "another serialisation": (tampered(stype="pickle"), Code.TYPE),
    "another declared type": (tampered(dtype="float64"), Code.PAYLOAD),
    "a declared shape unlike the payload's": (
        tampered(data=npy(header(shape="(3, 4)"))),
        Code.PAYLOAD,
    ),
    "a flat payload": (tampered(data=npy(header(shape="(12,)"))), Code.PAYLOAD),
    "a declared type unlike the payload's": (tampered(data=npy(header("'<f8'"), b"\0" * 96)), Code.PAYLOAD),
    "too few bytes": (tampered(data=npy(header(), b"\0" * 47)), Code.PAYLOAD),
    "too many bytes": (tampered(data=npy(header(), b"\0" * 4800)), Code.PAYLOAD),
    "no bytes": (tampered(data=b""), Code.PAYLOAD),
    "half a header": (tampered(data=npy(header())[:30]), Code.PAYLOAD),
    "random bytes": (tampered(data=bytes(range(256))), Code.PAYLOAD),
    "a pickle": (tampered(data=pickled()), Code.PAYLOAD),
    "a zip": (tampered(data=npz()), Code.PAYLOAD),
    "a header of four gigabytes": (
        tampered(data=b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + header()),
        Code.PAYLOAD,
    ),
    "a header of another version": (tampered(data=npy(header(), version=b"\x03\x00")), Code.PAYLOAD),
    "a header that computes": (
        tampered(data=npy(header(shape="(4, 3)[::1]"))),
        Code.PAYLOAD,
    ),
    "a header with a huge shape": (tampered(data=npy(header(shape=f"({'9' * 400},)"))), Code.PAYLOAD),
    "a header of brackets": (tampered(data=npy(header(shape="(" * 500 + ")" * 500))), Code.PAYLOAD),
    "no num-examples": (with_metrics(**{"num-examples": None}), Code.EXAMPLES),
    "negative num-examples": (with_metrics(**{"num-examples": -1}), Code.EXAMPLES),
    "huge num-examples": (with_metrics(**{"num-examples": 10**15}), Code.EXAMPLES),
    "num-examples beyond all floats": (with_metrics(**{"num-examples": 10**400}), Code.EXAMPLES),
    "NaN num-examples": (with_metrics(**{"num-examples": float("nan")}), Code.EXAMPLES),
    "infinite num-examples": (with_metrics(**{"num-examples": float("inf")}), Code.EXAMPLES),
    "a list of num-examples": (with_metrics(**{"num-examples": [1, 2]}), Code.EXAMPLES),
}

#: name: what a node replies whose metrics are odd, and whose model and count of examples are not
ODD_METRICS = {
    "a missing metric": with_metrics(train_loss=None),
    "an extra metric": with_metrics(more=1.0),
    "an extra metric with a line of its own": with_metrics(**{"a\nINFO: all is well": 1.0}),
    "a list for a metric": with_metrics(train_loss=[0.5]),
    "an empty list for a metric": with_metrics(train_loss=[]),
    "a NaN metric": with_metrics(train_loss=float("nan")),
    "an infinite metric": with_metrics(train_loss=float("-inf")),
    "a metric beyond all floats": with_metrics(train_loss=10**400),
    "a NaN in an extra list": with_metrics(more=[1.0, float("nan")]),
}
