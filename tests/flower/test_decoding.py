"""Arrays are read in place, as Flower's own reader reads them, and nothing large is ever made of a lie."""

import tracemalloc

import numpy as np
import pytest
from flwr.app import Array

from holdfast.flower.decoding import Refusal, model_arrays, model_record, numbers_in

from .hostile import header, npy

TYPES = ["<f2", "<f4", "<f8", ">f4", "|i1", "<i2", "<i4", "<i8", "|u1", "<u8", "|b1", ">i8"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 3, 4), (0,), (2, 0, 3)], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_np_save_writes_is_read_as_flower_reads_it(dtype, shape, order):
    values = np.asarray(np.random.default_rng(0).integers(0, 2, shape), dtype=dtype, order=order)
    array = Array(values)
    found = numbers_in(array, like=values)
    assert found.dtype == values.dtype
    assert found.shape == shape
    np.testing.assert_array_equal(found, array.numpy())


def test_the_numbers_are_not_copied_and_lie_as_loops_want_them():
    array = Array(np.ones(1000, np.float32))
    found = numbers_in(array)
    assert found.base is not None
    assert not found.flags.writeable
    assert found.flags.aligned


def test_a_file_of_the_second_version_is_read():
    array = Array("float32", (4, 3), "numpy.ndarray", npy(header(), version=b"\x02\x00"))
    np.testing.assert_array_equal(numbers_in(array), np.zeros((4, 3)))


def test_a_model_comes_back_from_its_record_and_is_not_held_twice():
    model = {"a": np.float64(3.0), "b": np.arange(6).reshape(2, 3).T, "c": np.ones((2, 2), np.float16)}
    given = dict(model)
    found = model_arrays(model_record(given))
    assert given == {}
    assert list(found) == list(model)
    for name, values in model.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize(
    "data",
    [
        npy(header(shape="(99999999999999, 99999999)"), b""),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 100,
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"1, " * 3000 + b"), }\n"),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (" + b"1" * 9000 + b"), }\n"),
        npy(b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }" + b" " * 60_000),
    ],
)
def test_a_lie_about_the_size_costs_no_memory(data):
    shape = (99999999999999, 99999999)
    tracemalloc.start()
    with pytest.raises(Refusal):
        numbers_in(Array("float32", shape, "numpy.ndarray", data))
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
