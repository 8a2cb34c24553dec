"""Runs on worker processes of this machine."""

import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ..._support.locks import end_at_once
from ...errors import HoldfastError
from ...lab.scenario import Run
from .step import Step, make_steps, run_name

__all__ = ["make_locally"]

_to_parent: Any = None  # in a worker: the pipe for news, and the lock that keeps them apart


def make_locally(
    runs: Sequence[Run], folder: Path, *, n_workers: int, device: str
) -> Generator[Step, None, None]:
    """Make the runs and yield their news. When this is closed or interrupted, all workers end at once.

    >>> list(make_locally([], Path("runs"), n_workers=1, device="cpu"))
    []
    """
    context = multiprocessing.get_context("spawn")  # the threads of torch and numba do not survive a fork
    (lifeline, our_end), (news, to_us) = context.Pipe(duplex=False), context.Pipe(duplex=False)
    ended, end = context.Pipe(duplex=False)  # within this process: a run has ended, one way or another
    pool = ProcessPoolExecutor(n_workers, context, _start_worker, (lifeline, to_us, context.Lock()))
    last: dict[str, Step] = {}
    try:
        with _script_left_alone(runs), _interrupts_held():
            futures = [pool.submit(_make, run, folder, device) for run in runs]
        for future in futures:
            future.add_done_callback(lambda _: end.send(None))
        n_open = len(runs)
        while n_open:
            if news in wait([news, ended]):  # before the end, which comes after them
                step: Step = news.recv()
                last[step.key] = step
                yield step
            else:
                ended.recv()
                n_open -= 1
                for future in futures:
                    if future.done():
                        future.result()
    except BrokenProcessPool:
        cut = [run_name(run) for run in runs if run.key in last and not last[run.key].finished]
        raise HoldfastError(
            f"a worker process died while it made {' or '.join(cut) or 'nothing yet'}; what was finished is"
            " stored: run the same again"
        ) from None
    finally:
        our_end.close()  # ends the workers, whatever they are doing
        pool.shutdown(cancel_futures=True)


@contextmanager
def _script_left_alone(runs: Sequence[Run]) -> Iterator[None]:
    """Keep new workers from running the caller's script once more, unless a run needs something of it."""
    script = vars(sys.modules["__main__"])
    told = {name: script[name] for name in ("__file__", "__spec__") if script.get(name) is not None}
    if b"__main__" in pickle.dumps(runs):
        told = {}
    script.update(dict.fromkeys(told))
    try:
        yield
    finally:
        script.update(told)


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C from new workers, which would end with a traceback while they import; ours comes after."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows, where processes inherit no such mask
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(lifeline: "Connection[Any, Any]", news: "Connection[Any, Any]", lock: Any) -> None:
    global _to_parent
    _to_parent = news, lock
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    os.environ["HOLDFAST_THREADS"] = "1"
    logging.getLogger("holdfast.verdicts").setLevel(logging.ERROR)  # they are stored with the run


def _end_with_parent(lifeline: "Connection[Any, Any]") -> None:
    """End this process, even within a round, when the parent closes its end of the pipe or is killed."""
    try:
        lifeline.recv()
    except EOFError:
        end_at_once(1)


def _make(run: Run, folder: Path, device: str) -> None:
    news, lock = _to_parent
    for step in make_steps(run, folder, device):
        with lock:
            news.send(step)
