import os
import threading

import pytest

from holdfast import InputError
from holdfast._support.threads import in_order, in_parts, n_threads


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
