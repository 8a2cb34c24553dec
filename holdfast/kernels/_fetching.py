"""Straight code that asks for memory early, a line at a time between comparators.

Many rows are many streams, more than a processor follows by itself. A row's lines are asked for one after
the other, which memory answers faster than one line of each row. Who asks for many lines at once waits.
"""

from typing import Any

from ._forms import WIDTH
from ._vectors import I64, Vectors

__all__ = ["Fetcher"]

LINE = 64  # bytes that memory brings at once
AHEAD = 1024  # bytes to fetch early. Never changes a result


class Fetcher:
    """Asks for a later block of all rows, into the second cache: each step of this block for its share."""

    def __init__(self, code: Vectors, n_rows: int, rows: Any, block: Any, step: Any) -> None:
        builder = self.builder = code.builder
        self.code, self.rows = code, rows
        self.n_lines = WIDTH * code.size // LINE  # of a row
        self.share = n_rows * self.n_lines // (WIDTH // code.n_lanes)
        self.first = builder.mul(step, I64(self.share))
        self.start = builder.add(block, I64(AHEAD))
        self.n_asked = 0

    def go_on(self, n_done: int, n_all: int) -> None:
        """Ask for as much of this step's share as is done of its work."""
        builder, n_lines = self.builder, I64(self.n_lines)
        while self.n_asked < self.share * n_done // n_all:
            number = builder.add(self.first, I64(self.n_asked))
            row, line = builder.udiv(number, n_lines), builder.urem(number, n_lines)
            place = builder.add(builder.load(builder.gep(self.rows, [row])), self.start)
            self.code.prefetch(builder.add(place, builder.mul(line, I64(LINE))), locality=2)
            self.n_asked += 1
