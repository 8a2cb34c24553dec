import os
import signal
import threading

import pytest

from holdfast import InputError
from holdfast._support.threads import for_each, in_order, in_parts, n_threads


def test_all_cores_are_used_unless_told_otherwise(monkeypatch):
    monkeypatch.delenv("HOLDFAST_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert n_threads() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("OMP_NUM_THREADS", "1,2")
    assert n_threads() == 1
    monkeypatch.setenv("HOLDFAST_THREADS", "5")
    assert n_threads() == 5


@pytest.mark.parametrize("text", ["0", "-1", "many", ""])
def test_a_senseless_number_of_threads_is_refused(monkeypatch, text):
    monkeypatch.setenv("HOLDFAST_THREADS", text)
    with pytest.raises(InputError, match="HOLDFAST_THREADS must be a whole number"):
        n_threads()


def test_results_come_in_order_from_several_threads():
    both = threading.Barrier(2, timeout=20)

    def work(item):
        if item < 2:
            both.wait()  # only two threads at a time get past this
        return item * item

    assert list(in_order(work, range(50), n_workers=2)) == [i * i for i in range(50)]


def test_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda x: 1 // x, [1, 0, 1], n_workers=2))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8])
@pytest.mark.parametrize("threads", ["1", "3"])
def test_parts_cover_every_item_once(monkeypatch, n, threads):
    monkeypatch.setenv("HOLDFAST_THREADS", threads)
    done = [0] * n

    def work(part):
        done[part] = [count + 1 for count in done[part]]

    in_parts(work, n)
    assert done == [1] * n


def test_the_caller_and_its_helpers_work_at_once_and_helpers_are_kept(monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", "2")
    both, workers = threading.Barrier(2, timeout=20), set()

    def work(item):
        workers.add(threading.current_thread())
        both.wait()

    for_each(work, range(2))
    for_each(work, range(2))
    assert len(workers) == 2
    assert threading.current_thread() in workers


def test_whoever_is_free_takes_the_next_item(monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", "2")
    others_are_done, done = threading.Event(), []

    def work(item):
        if item == 0:
            assert others_are_done.wait(20)
        done.append(item)
        if len(done) == 5:
            others_are_done.set()

    for_each(work, range(6))
    assert done == [1, 2, 3, 4, 5, 0]


def test_work_of_a_helper_is_not_dealt_out_again(monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", "3")
    found = []
    for_each(lambda outer: for_each(lambda inner: found.append((outer, inner)), range(4)), range(5))
    assert sorted(found) == [(outer, inner) for outer in range(5) for inner in range(4)]


@pytest.mark.parametrize("bad", range(4))
def test_an_error_of_caller_or_helper_is_raised_when_all_are_done(monkeypatch, bad):
    monkeypatch.setenv("HOLDFAST_THREADS", "2")
    done = []

    def work(item):
        if item == bad:
            raise ZeroDivisionError
        done.append(item)

    with pytest.raises(ZeroDivisionError):
        for_each(work, range(4))
    assert {item for item in range(4) if item % 2 != bad % 2} <= set(done)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_process_has_helpers_of_its_own(monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", "2")
    for_each(abs, range(4))
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        for_each(abs, range(4))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
