import os
import signal
import time

import pytest

from holdfast._support import locks
from holdfast._support.locks import end_at_once, held, held_here, locked

pytest.importorskip("fcntl", reason="this system has no locks that end with a process")


def child(work):
    """Fork a process that works and ends; return its id."""
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    return pid


def hold(path, sign):
    with held(path):
        sign.touch()
        signal.pause()


def test_a_lock_ends_with_its_process_however_that_ends(tmp_path):
    path, sign = tmp_path / "lock", tmp_path / "sign"
    pid = child(lambda: hold(path, sign))
    while not sign.exists():
        time.sleep(0.01)
    with held(path) as is_ours:
        assert not is_ours
    assert not held_here(path)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert path.exists()
    with held(path) as is_ours:
        assert is_ours
    assert not path.exists()


def test_a_fork_of_the_holder_neither_holds_the_lock_nor_ends_it(tmp_path):
    path = tmp_path / "lock"
    holder = held(path)
    holder.__enter__()
    pid = child(
        lambda: (tmp_path / "held here").touch() if held_here(path) else holder.__exit__(None, None, None)
    )
    os.waitpid(pid, 0)
    assert not (tmp_path / "held here").exists()
    with held(path) as is_ours:
        assert not is_ours
    assert path.exists()
    holder.__exit__(None, None, None)
    assert not path.exists()


def test_who_ends_at_once_leaves_no_file(tmp_path):
    def work():
        with held(tmp_path / "one"), held(tmp_path / "other"):
            end_at_once(3)

    with held(tmp_path / "ours"):
        _, status = os.waitpid(child(work), 0)
        assert os.waitstatus_to_exitcode(status) == 3
        assert [path.name for path in tmp_path.iterdir()] == ["ours"]


def test_who_waits_for_a_lock_gets_it_after_the_others(tmp_path):
    path, count = tmp_path / "lock", tmp_path / "count"
    count.write_text("0")

    def add():
        for _ in range(20):
            with locked(path):
                count.write_text(str(int(count.read_text()) + 1))

    for pid in [child(add) for _ in range(3)]:
        assert os.waitpid(pid, 0)[1] == 0
    assert count.read_text() == "60"


def test_folders_that_are_made_for_a_lock_go_with_it_unless_they_are_used(tmp_path):
    path = tmp_path / "new" / "inner" / "lock"
    with held(path):
        assert path.exists()
    assert not list(tmp_path.iterdir())
    with held(path):
        path.with_name("result").touch()
    assert [found.name for found in path.parent.iterdir()] == ["result"]


def test_a_system_without_locks_does_without(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    with held(tmp_path / "lock") as one, held(tmp_path / "lock") as other:
        assert (one, other) == (True, True)
    assert not list(tmp_path.iterdir())
