"""Progress on the terminal for runs that take long, and a word to those who interrupt it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import options
from .shown import same_command, stopping

if TYPE_CHECKING:
    from ..comparing.making import Progress

__all__ = ["rounds_shown"]


def rounds_shown(*, quiet: bool = False) -> "Progress":
    """Return what shows how many rounds are made."""
    saved = "Finished runs are stored, the others up to their last checkpoint. To resume: "

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[int, str], None]]:
        with options.progress("rounds", total, quiet=quiet) as show, stopping(saved + same_command()):
            yield show

    return progress
