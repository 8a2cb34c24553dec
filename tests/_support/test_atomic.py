import os
import stat

import pytest

from holdfast._support.atomic import replacing


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "note"
    path.write_bytes(b"old")

    def fail():
        with replacing(path) as file:
            file.write(b"new")
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_on_the_disk_before_it_has_its_name_and_the_name_after(tmp_path, monkeypatch):
    happened, replaced = [], os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: happened.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    monkeypatch.setattr(os, "replace", lambda *names: happened.append("named") or replaced(*names))
    with replacing(tmp_path / "note") as file:
        file.write(b"new")
    assert happened == [False, "named", True]
