"""Progress on the terminal for runs that take long, and a word to those who interrupt it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from . import options
from .shown import stopping

if TYPE_CHECKING:
    from ..comparing.making import Progress

__all__ = ["rounds_shown"]


def rounds_shown(*, quiet: bool = False) -> "Progress":
    """Return what shows how many rounds are made."""

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[int, str], None]]:
        with options.progress("rounds", total, quiet=quiet) as show, stopping("the same command resumes"):
            yield show

    return progress
