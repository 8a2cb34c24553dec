import os
import platform
import stat
import subprocess
import sys

import pytest

from holdfast._support.atomic import remove_leftovers, replacing, replacing_folder, write_whole


def fail_in(context):
    with context:
        raise RuntimeError("in the middle")


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "note"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_in(replacing(path))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_file_is_on_the_disk_before_it_has_its_name_and_the_name_after(tmp_path, monkeypatch):
    happened, replaced = [], os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: happened.append(stat.S_ISDIR(os.fstat(fd).st_mode)))
    monkeypatch.setattr(os, "replace", lambda *names: happened.append("named") or replaced(*names))
    with replacing(tmp_path / "note") as file:
        file.write(b"new")
    assert happened == [False, "named", True]


@pytest.mark.parametrize("can_exchange", [True, False])
def test_a_folder_is_replaced_as_a_whole(can_exchange, tmp_path, monkeypatch):
    if not can_exchange:
        monkeypatch.setattr("holdfast._support.atomic._exchanged", lambda *_: False)
    path = tmp_path / "model"
    for content in (b"old", b"new"):
        with replacing_folder(path) as folder:
            write_whole(folder / content.decode(), content)
            assert not (path / content.decode()).exists()
    assert [file.name for file in path.iterdir()] == ["new"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_fails_leaves_the_old_one_and_nothing_beside_it(tmp_path):
    write_whole(tmp_path / "model" / "old", b"old")
    with pytest.raises(RuntimeError, match="in the middle"):
        fail_in(replacing_folder(tmp_path / "model"))
    assert (tmp_path / "model" / "old").read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [tmp_path / "model"]


def test_only_what_a_dead_process_left_is_removed(tmp_path):
    """A second process in the folder must not take away what the first one is writing."""
    hold = "import sys; from pathlib import Path; from holdfast._support.atomic import *\n"
    hold += "with replacing(Path(sys.argv[1])), replacing_folder(Path(sys.argv[2])):\n"
    hold += "    print('open', flush=True); sys.stdin.read()"
    arguments = [sys.executable, "-c", hold, str(tmp_path / "run.json"), str(tmp_path / "run")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "open\n"
        partials = sorted(tmp_path.iterdir())
        assert len(partials) == 2
        remove_leftovers(tmp_path, "run")
        assert sorted(tmp_path.iterdir()) == partials
        process.kill()
    assert sorted(tmp_path.iterdir()) == partials
    remove_leftovers(tmp_path, "other")
    assert sorted(tmp_path.iterdir()) == partials
    remove_leftovers(tmp_path, "run")
    assert list(tmp_path.iterdir()) == []


def test_what_a_process_on_another_machine_writes_is_left_alone(tmp_path):
    """Whether that one is alive cannot be seen from here."""
    with subprocess.Popen([sys.executable, "-c", ""]) as dead:
        dead.wait()
    here, elsewhere = (tmp_path / f"run.{dead.pid}@{host}.partial" for host in (platform.node(), "elsewhere"))
    here.touch()
    elsewhere.touch()
    remove_leftovers(tmp_path, "run")
    assert list(tmp_path.iterdir()) == [elsewhere]
