import codecs
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


def doubled(make, start):
    """Return the opcodes of something that is twice itself, sixty times over."""
    code = start + b"q\x00"
    for number in range(60):
        code += make(b"h" + bytes([number])) + b"q" + bytes([number + 1])
    return code


#: Two times two times two ..., in a few hundred bytes; what it is part of.
BOMBS = {
    "lists": doubled(lambda again: b"(" + again * 2 + b"l", b"]"),
    "lists, made otherwise": doubled(lambda again: b"](" + again * 2 + b"e", b"]"),
    "tuples": doubled(lambda again: again * 2 + b"\x86", b"K\x01\x85"),
    "tuples under a copy": doubled(lambda again: again * 2 + b"\x86", b"K\x01\x852"),
    "tuples behind a number": doubled(lambda again: again * 2 + b"\x86N0", b"K\x01\x85"),
    "keys of a dictionary": b"}" + doubled(lambda again: again * 2 + b"\x86", b"K\x01\x85") + b"K\x01s",
    "dictionaries": doubled(lambda again: b"}(K\x01" + again + b"K\x02" + again + b"u", b"}"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_pickle_that_doubles_itself_for_ever_is_refused(bomb):
    with pytest.raises(DataError, match="was refused: it uses a list, a tuple or a dictionary twice"):
        unpickle_arrays(b"\x80\x02" + BOMBS[bomb] + b".")


@pytest.mark.parametrize("put", [b"r\xff\xff\xff\x3f", b"p1073741823\n", b"q\x02"])
def test_a_pickle_that_asks_for_room_for_a_billion_things_is_refused(put):
    with pytest.raises(DataError, match="was refused: it numbers what it remembers with gaps"):
        unpickle_arrays(b"\x80\x02]" + put + b".")


def test_a_string_that_claims_more_bytes_than_there_are_is_refused():
    with pytest.raises(DataError, match="is not a pickle of arrays"):
        unpickle_arrays(b"\x80\x04\x8e" + (2**40).to_bytes(8, "little") + b"abc.")


def test_an_array_that_stands_in_a_list_many_times_is_refused():
    array = np.zeros(1000, np.uint8)
    assert len(unpickle_arrays(pickle.dumps([array, array.copy()], protocol=4))) == 2
    with pytest.raises(DataError, match="was refused: it becomes more than twice its own"):
        unpickle_arrays(pickle.dumps([array] * 1000, protocol=4))


def test_text_that_becomes_bytes_many_times_is_refused():
    start = b"\x80\x02c_codecs\nencode\nq\x00X\xe8\x03\0\0" + b"a" * 1000 + b"q\x01X\x06\0\0\0latin1q\x02000"
    once = b"h\x00h\x01h\x02\x86R"
    assert unpickle_arrays(start + b"(" + once + b"l.") == [b"a" * 1000]
    with pytest.raises(DataError, match="was refused: it becomes more than twice its own"):
        unpickle_arrays(start + b"(" + once * 3 + b"l.")


@pytest.mark.parametrize("codec", ["punycode", "idna", "utf-32", "unicode_escape"])
def test_text_becomes_bytes_in_the_one_way_that_pickles_use(codec):
    class Encoded:
        def __reduce__(self):
            return codecs.encode, ("a" * 10, codec)

    with pytest.raises(DataError, match=f"was refused: .*{codec}"):
        unpickle_arrays(pickle.dumps(Encoded(), protocol=2))


def test_tuples_nested_deep_enough_to_end_the_process_are_refused():
    with pytest.raises(DataError, match="was refused: it holds more than 20,000 tuples"):
        unpickle_arrays(b"\x80\x02}K\x01" + b"\x85" * 1_000_000 + b"K\x01s.")


def test_lists_nested_deeper_than_python_goes_are_refused():
    with pytest.raises(DataError, match="is not a pickle of arrays: RecursionError"):
        unpickle_arrays(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")


def test_an_array_whose_shape_does_not_fit_its_bytes_is_refused():
    raw = pickle.dumps(np.arange(3, dtype=np.uint8), protocol=2).replace(b"K\x03\x85", b"K\x7f\x85")
    with pytest.raises(DataError, match="is not a pickle of arrays"):
        unpickle_arrays(raw)
