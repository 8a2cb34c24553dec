import collections
import os
import pickle

import numpy as np
import pytest

from holdfast.errors import DataError
from holdfast.lab.data.pickles import unpickle_arrays


@pytest.mark.parametrize("protocol", range(5))
@pytest.mark.parametrize("dtype", ["uint8", "<i4", ">f8", "float32", "bool"])
def test_arrays_come_back_from_every_protocol(protocol, dtype):
    array = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for one in (array, np.asfortranarray(array)):
        back = unpickle_arrays(pickle.dumps({"data": one, "labels": [1, 2]}, protocol=protocol))
        np.testing.assert_array_equal(back["data"], array)
        assert back["data"].dtype == array.dtype
        assert back["labels"] == [1, 2]


def test_a_pickle_of_python_2_is_read():
    # cPickle.dumps({'labels': [6, 9]}, 2)
    assert unpickle_arrays(b"\x80\x02}U\x06labels]q\x01(K\x06K\tes.") == {"labels": [6, 9]}


class Trap:
    def __init__(self, call, *args):
        self.call, self.args = call, args

    def __reduce__(self):
        return self.call, self.args


@pytest.mark.parametrize(
    "bad",
    [
        Trap(os.system, "echo run"),
        Trap(eval, "1"),
        Trap(np.load, "file"),
        Trap(np.dtype, "O"),
        {"data": [Trap(os.getcwd)]},
        collections.OrderedDict(),
    ],
)
def test_a_pickle_that_asks_for_more_than_arrays_is_refused(bad, capfd):
    with pytest.raises(DataError, match=r"was refused: .*nothing but arrays may be built"):
        unpickle_arrays(pickle.dumps(bad, protocol=4))
    assert capfd.readouterr().out == ""


def test_an_array_of_objects_is_refused():
    with pytest.raises(DataError, match=r"only arrays of numbers are read"):
        unpickle_arrays(pickle.dumps(np.array([None, 1], dtype=object), protocol=4))


@pytest.mark.parametrize("content", [b"", b"\x80\x04", b"text", pickle.dumps(np.arange(9), protocol=4)[:-20]])
def test_a_broken_pickle_is_refused(content, tmp_path):
    (tmp_path / "bad.pkl").write_bytes(content)
    with pytest.raises(DataError, match=r"bad\.pkl is not a pickle of arrays"):
        unpickle_arrays(tmp_path / "bad.pkl")


def test_an_array_whose_shape_does_not_fit_its_bytes_is_refused():
    raw = pickle.dumps(np.arange(3, dtype=np.uint8), protocol=2).replace(b"K\x03\x85", b"K\x7f\x85")
    with pytest.raises(DataError, match="is not a pickle of arrays"):
        unpickle_arrays(raw)
