import errno
import os
import resource
import stat
import subprocess
import sys

import pytest

from holdfast._support.atomic import PRIVATE, replacing, replacing_folder, write_whole


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


def test_a_new_file_may_be_for_its_owner_alone_even_while_it_is_written(tmp_path):
    with replacing(tmp_path / "secret", mode=PRIVATE) as file:
        file.write(b"sample")
        (partial,) = tmp_path.iterdir()
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600


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


HOLD = """
import sys
from pathlib import Path
from holdfast._support.atomic import *
with replacing(Path(sys.argv[1])) as file, replacing_folder(Path(sys.argv[2])):
    file.write(b"half")
    print("open", flush=True)
    sys.stdin.read()
"""


def replace_both(folder):
    write_whole(folder / "run.json", b"whole")
    with replacing_folder(folder / "run") as made:
        write_whole(made / "shard", b"whole")


def test_what_a_killed_process_left_is_removed_and_never_what_a_living_one_writes(tmp_path):
    command = [sys.executable, "-c", HOLD, str(tmp_path / "run.json"), str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "open\n"
        partials = sorted(tmp_path.iterdir())
        assert len(partials) == 2
        replace_both(tmp_path)
        assert sorted(tmp_path.glob("*.partial")) == partials
        process.kill()
    write_whole(tmp_path / "other.json", b"")
    assert sorted(tmp_path.glob("*.partial")) == partials
    replace_both(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.json", "run", "run.json"]


def test_a_process_with_the_id_of_a_killed_one_is_not_in_its_way(tmp_path, monkeypatch):
    """As in a container, where every process has the same one."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with replacing(tmp_path / "run.json") as one, replacing(tmp_path / "run.json") as other:
        one.write(b"one")
        other.write(b"other")
    assert (tmp_path / "run.json").read_bytes() == b"one"  # which was finished last
    with replacing_folder(tmp_path / "run"), replacing_folder(tmp_path / "run"):
        assert len(list(tmp_path.glob("run.*.partial"))) == 2


def test_what_is_not_ours_is_left_alone(tmp_path):
    kept = [f"run.json.{name}.partial" for name in ("123@host", "0123456789abcdeg", "link", "0" * 17)]
    for name in kept:
        (tmp_path / name).write_bytes(b"theirs")
    (tmp_path / f"run.json.{'0' * 16}.partial").symlink_to(tmp_path / kept[0])
    os.mkfifo(tmp_path / f"run.json.{'1' * 16}.partial")
    before = sorted(tmp_path.iterdir())
    write_whole(tmp_path / "run.json", b"whole")
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "run.json"])
    assert (tmp_path / kept[0]).read_bytes() == b"theirs"


def test_a_link_in_place_of_a_partial_file_is_not_followed(tmp_path, monkeypatch):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    monkeypatch.setattr("secrets.token_hex", lambda n: "0" * 2 * n)
    (tmp_path / f"run.json.{'0' * 16}.partial").symlink_to(precious)
    with pytest.raises(FileExistsError):
        write_whole(tmp_path / "run.json", b"whole")
    assert precious.read_bytes() == b"precious"


def test_a_partial_file_that_is_taken_for_a_leftover_before_it_is_locked_is_made_anew(tmp_path, monkeypatch):
    made, opened = [], os.open

    def taken_away(path, *given, **more):
        fd = opened(path, *given, **more)
        if str(path).endswith(".partial"):
            made.append(path)
            if len(made) == 1:
                os.unlink(path)
        return fd

    monkeypatch.setattr(os, "open", taken_away)
    write_whole(tmp_path / "run.json", b"whole")
    assert (tmp_path / "run.json").read_bytes() == b"whole"
    assert len(made) == 2


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_mode_of_what_is_replaced_is_kept_and_a_new_file_follows_the_umask(tmp_path):
    path, folder = tmp_path / "model", tmp_path / "shards"
    before = os.umask(0o027)
    try:
        for _ in range(2):
            write_whole(path, b"new")
            with replacing_folder(folder) as made:
                write_whole(made / "shard", b"new")
                write_whole(made / "index", b"new")
            assert [mode_of(one) for one in (path, folder, folder / "shard")] == [0o640, 0o750, 0o640]
        path.chmod(0o600)
        (folder / "shard").chmod(0o600)
        folder.chmod(0o700)
        with replacing(path) as file, replacing_folder(folder) as made:
            write_whole(made / "shard", b"new")
            write_whole(made / "index", b"new")
            assert mode_of(made) == 0o700
            assert stat.S_IMODE(os.fstat(file.fileno()).st_mode) == 0o600
        assert [mode_of(one) for one in (path, folder, folder / "shard", folder / "index")] == [
            *(0o600, 0o700, 0o600, 0o640)
        ]
    finally:
        os.umask(before)


def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing(tmp_path):
    path = tmp_path / "note"
    path.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))  # stands for the disk's end
    try:
        with pytest.raises(OSError, match="note") as full:
            write_whole(path, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert full.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_where_files_cannot_be_locked_they_are_written_all_the_same_and_leftovers_stay(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    left = tmp_path / f"run.json.{'0' * 16}.partial"
    left.touch()
    write_whole(tmp_path / "run.json", b"whole")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "run.json", left]
