"""Files that are written whole or not at all, and arrays in them that are read without pickle."""

import os
import stat

import numpy as np
import pytest

from holdfast._support.arrays import UNREADABLE, read_arrays, write_arrays
from holdfast._support.atomic import write_whole
from holdfast.errors import DataError


def test_what_is_no_file_of_arrays_is_unreadable(tmp_path):
    with pytest.raises(DataError, match="no checkpoint at"):
        read_arrays(tmp_path / "absent.npz")
    for content in (b"", b"PK", b"some text"):
        write_whole(tmp_path / "x.npz", content)
        with pytest.raises(UNREADABLE):
            read_arrays(tmp_path / "x.npz")


def test_a_pickle_is_never_loaded(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.array({"a": 1}, dtype=object))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_arrays(tmp_path / "x.npz")


def test_arrays_come_back_to_the_bit(tmp_path):
    arrays = {"a": np.arange(3, dtype=np.float32), "b": np.array("text"), "c": np.array(7)}
    write_arrays(tmp_path / "x.npz", arrays)
    found = read_arrays(tmp_path / "x.npz")
    assert all(found[name].tobytes() == values.tobytes() for name, values in arrays.items())


def test_every_single_bit_counts(tmp_path):
    path = tmp_path / "x.npz"
    write_arrays(path, {"a": np.arange(3, dtype=np.float32), "b": np.array("text")})
    whole = path.read_bytes()
    for bit in range(8 * len(whole)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged"):
            read_arrays(path)


def test_half_a_file_and_one_with_more_at_its_end_are_unreadable(tmp_path):
    path = tmp_path / "x.npz"
    write_arrays(path, {"a": np.arange(3, dtype=np.float32), "b": np.array("text")})
    whole = path.read_bytes()
    for damaged in (*(whole[:length] for length in range(len(whole) - 70)), whole + b"\0", whole + whole):
        path.write_bytes(damaged)
        with pytest.raises(UNREADABLE):
            read_arrays(path)


def test_a_file_from_before_digests_is_read_and_one_that_claims_to_be_encrypted_is_not(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.arange(3))
    assert read_arrays(path)["a"].tolist() == [0, 1, 2]
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(UNREADABLE, match="encrypted"):
        read_arrays(path)


def test_a_write_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "note"
    write_whole(path, b"old")

    def full(descriptor):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"


def test_the_file_is_on_the_disk_before_it_has_its_name_and_the_name_after(tmp_path, monkeypatch):
    happened, replaced = [], os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: happened.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    monkeypatch.setattr(os, "replace", lambda *names: happened.append("named") or replaced(*names))
    write_whole(tmp_path / "note", b"new")
    assert happened == [False, "named", True]
