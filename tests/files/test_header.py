import json

import pytest

from holdfast.files.header import encoded, parsed, strict_json
from holdfast.updates.layout import Unfit


def whole(entries, n_bytes, padding=0):
    text = json.dumps(entries).encode() + b" " * padding
    raw = len(text).to_bytes(8, "little") + text
    return parsed(raw, len(raw) + n_bytes)


def entry(start, stop, shape, dtype="F32"):
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


def test_tensors_come_in_the_order_of_their_numbers_not_of_their_names():
    header = whole({"a": entry(8, 16, [2]), "z": entry(0, 8, [2]), "__metadata__": {"x": "y"}}, 16)
    assert [tensor.name for tensor in header.tensors] == ["z", "a"]
    assert header.metadata == {"x": "y"}


def test_scalars_empty_tensors_and_padding_are_allowed():
    header = whole({"s": entry(0, 4, []), "e": entry(4, 4, [3, 0, 2])}, 4, padding=7)
    assert [(tensor.name, tensor.shape) for tensor in header.tensors] == [("s", ()), ("e", (3, 0, 2))]


def test_what_is_encoded_is_parsed_to_the_same_and_aligned():
    header = encoded({"é": ("BF16", (3, 2)), "n": ("I64", ())}, {"made by": "us"})
    assert len(header.raw) % 8 == 0
    assert parsed(header.raw, header.tensors[-1].stop) == header


@pytest.mark.parametrize("length", [0x280, 0x380, 0x480, 0x580])
def test_a_header_whose_length_begins_like_a_pickle_is_one(length):
    plain = len(json.dumps({"a": entry(0, 4, [1])}))
    assert len(whole({"a": entry(0, 4, [1])}, 4, padding=length - plain).raw) == 8 + length


@pytest.mark.parametrize("text", [b"{'a': 1}", b"[NaN]", b'{"a": 1, "a": 2}', b"\xff", b"", b"[" * 100_000])
def test_only_plain_json_is_read(text):
    with pytest.raises(Unfit):
        strict_json(text)
