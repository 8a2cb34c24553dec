"""Runs made with progress that somebody looks at: in a notebook, on a terminal, or in a log."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO

from ..lab.scenario import Run
from ..runs.parallel import make_runs

__all__ = ["Progress", "make_shown", "progress_shown"]

#: Opened with how much there is to do; yields what is told how much is done, and a few words.
Progress = Callable[[int], AbstractContextManager[Callable[[int, str], None]]]

#: How often progress is shown where a line can be written over, and in a log.
SECONDS, SECONDS_IN_A_LOG = 0.5, 30.0


def make_shown(
    runs: Iterable[Run],
    folder: Path,
    *,
    progress: Progress,
    n_workers: int | None = None,
    device: str = "cpu",
) -> None:
    """Make the runs that the folder does not hold yet, and show how far they are.

    >>> make_shown([], Path("results"), progress=progress_shown)
    """
    wanted = {run.key: run for run in runs}
    done, n_finished = dict.fromkeys(wanted, 0), 0
    with progress(sum(run.task.n_rounds for run in wanted.values())) as show:
        for step in make_runs(wanted.values(), folder, n_workers=n_workers, device=device):
            done[step.key] = step.round
            n_finished += step.finished
            show(sum(done.values()), f"{n_finished} of {len(wanted)} runs done")


@contextmanager
def progress_shown(
    total: int, *, what: str = "rounds", stream: TextIO | None = None
) -> Iterator[Callable[[int, str], None]]:
    """Yield a function that shows progress: one line that changes, or in a log a line now and then.

    An interrupt is answered with a word about how to resume.

    >>> import io
    >>> with progress_shown(3, stream=io.StringIO()) as show:
    ...     show(1, "on its way")
    """
    line = _Line(sys.stderr if stream is None else stream)
    try:
        yield lambda done, said: line.show(f"{done} of {total} {what}, {said}")
    except KeyboardInterrupt:
        line.end("Stopped. All is stored up to the last checkpoint: the same call resumes.")
        raise
    line.end("")


class _Line:
    """One line of text that changes: a display of the notebook, or the last line of a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.last = stream, time.monotonic()
        self.is_notebook, self.is_terminal = _in_notebook(), stream.isatty()
        self.display: Any = None  # in a notebook, once there is something to show
        self.text = ""

    def show(self, text: str) -> None:
        """Show the text, unless the last one was just shown."""
        self.text = text
        changes = self.is_notebook or self.is_terminal
        if time.monotonic() - self.last < (SECONDS if changes else SECONDS_IN_A_LOG):
            return
        self.last = time.monotonic()
        self._write(text)

    def end(self, text: str) -> None:
        """Take the line away, and leave the text, if there is one; a notebook keeps the last one shown."""
        if self.display is not None:
            self._write(self.text)
        elif self.is_terminal and not self.is_notebook:
            self._write("")
        if text:
            self.stream.write(f"{text}\n")

    def _write(self, text: str) -> None:
        if self.display is not None:
            self.display.update({"text/plain": text}, raw=True)
        elif self.is_notebook:
            display = import_module("IPython.display").display
            self.display = display({"text/plain": text}, raw=True, display_id=True)
        else:
            self.stream.write(f"\r\033[K{text}" if self.is_terminal else f"{text}\n")
            self.stream.flush()


def _in_notebook() -> bool:
    """Return whether this runs in a notebook, where a display can be updated."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive else None
    return hasattr(shell, "kernel")
