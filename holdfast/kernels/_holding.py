"""Straight code for more rows than there are registers: which of them each comparator finds in one.

Left to LLVM, rows are loaded long before they are needed and half of all registers spilled. Here a row comes
from memory when its first comparator does, and the one that is needed last makes room for it.
"""

from collections import defaultdict, deque
from typing import Any

from ._fetching import Fetcher
from ._vectors import I64, Vectors

__all__ = ["Holder"]

NEAR = 30  # comparators before its first that a row is asked for, from the second cache into the first


class Holder:
    """Puts rows through a network: so many are in registers, the others in the function's own memory."""

    def __init__(self, columns: Any, order: list[tuple[int, int]], n_held: int, room: Any) -> None:
        self.columns, self.order, self.n_held, self.room = columns, order, n_held, room
        self.code: Vectors = columns.code
        self.held: set[int] = set()
        self.uses: defaultdict[int, deque[int]] = defaultdict(deque)  # of each row, still to come
        for number, pair in enumerate(order):
            for row in pair:
                self.uses[row].append(number)
        first, n = columns.shape.n_trimmed, columns.shape.n_rows
        for row in range(first, n - first):  # the middle ones are needed after all comparators
            self.uses[row].append(len(order))

    def sort(self, fetcher: Fetcher) -> None:
        """Put the rows through the network; the middle ones are in registers or loaded again in the end."""
        starts = deque(sorted((uses[0], row) for row, uses in self.uses.items()))
        for number, (low, high) in enumerate(self.order):
            while starts and starts[0][0] <= number + NEAR:
                self.columns.fetch(starts.popleft()[1])
            for row in (low, high):
                self._take(row, (low, high))
            self.columns.compare(low, high)
            for row in (low, high):
                self.uses[row].popleft()
                if not self.uses[row]:
                    self.held.discard(row)
            fetcher.go_on(number + 1, len(self.order))
        for row in sorted(set(self.uses) - self.held):
            if self.uses[row]:
                self.columns.values[row] = self.code.builder.load(self._place(row), align=64)

    def _take(self, row: int, pair: tuple[int, int]) -> None:
        """Bring a row into a register, from where it lies or from where it was put."""
        if row in self.held:
            return
        if len(self.held) >= self.n_held:
            last = max((other for other in self.held if other not in pair), key=lambda one: self.uses[one][0])
            self.code.builder.store(self.columns.values[last], self._place(last), align=64)
            self.held.remove(last)
        if self.columns.values[row] is not None:
            self.columns.values[row] = self.code.builder.load(self._place(row), align=64)
        self.columns.row(row)
        self.held.add(row)

    def _place(self, row: int) -> Any:
        return self.code.builder.gep(self.room, [I64(0), I64(row)])
