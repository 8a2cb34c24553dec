"""Clients' updates as they come (arrays, layers, models with a base), served block by block.

Nothing is stacked or copied whole. Sums over coordinates and noise are made on one fixed grid of `CELL`
coordinates, so that neither the size of a block nor the number of threads changes a bit of a result.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from .._support.threads import in_parts
from ..errors import NonFiniteError, TooFewClientsError
from .layout import FLOATS, Layer, Layout, Unfit, widened
from .pieces import Places, Stored, flat_piece, part_of, taken
from .sent import read_rows, sent_by_clients

__all__ = ["CELL", "Home", "Rows", "Stored", "Updates", "rows_of"]

#: Coordinates in a cell of the grid. Part of the result's bits: changing it changes last digits.
CELL = 32_768

Array = NDArray[Any]


class ArrayLike(Protocol):
    """A NumPy array, or a tensor that can be read as one."""

    def __array__(self) -> Array:
        """Return the numbers."""
        ...


class Home(Protocol):
    """Where rows that need not fit into memory are worked on."""

    def empty(self, dim: int, dtype: np.dtype[Any]) -> Array:
        """Return room for one update."""
        ...

    def run(self, rows: "Rows", job: Any, out: Array | None) -> Any:
        """Do a pass of `kernels.passes` over all rows."""
        ...


@dataclass(frozen=True, eq=False)
class Rows:
    """The updates of a round, one row per client. Made by `rows_of`; every rule takes it as it takes arrays.

    `explain` asks whoever passes over the rows to measure each client on the way.

    >>> rows_of([np.array([0.0, 1.0]), np.array([2.0, 4.0])]).block(0, 2)
    array([[0., 1.],
           [2., 4.]])
    """

    layout: Layout
    arrays: tuple[tuple[Array | Stored, ...], ...]  # [client][layer]
    # [layer]; if given, the arrays are models and this is subtracted
    base: tuple[Array | Stored, ...] | None = None
    explain: bool = False
    positions: tuple[int, ...] | None = None  # of a selection's rows among all
    home: Home | None = None  # None: here, in memory
    mixing: NDArray[np.float64] | None = None  # [row, client]; if given, the rows are these sums of clients'

    def __len__(self) -> int:
        """Return the number of clients."""
        return len(self.arrays if self.mixing is None else self.mixing)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return all rows as one new matrix, for rules written in plain NumPy; refuse non-finite rows."""
        matrix = self.block(0, self.dim)
        self.refuse(np.asarray(~(np.abs(matrix) <= self.limits(0, self.dim)).all(axis=1)))
        return matrix if dtype is None else matrix.astype(dtype, copy=False)

    @property
    def dim(self) -> int:
        """How many coordinates an update has."""
        return self.layout.dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of a block: float32 or float64."""
        return self.layout.compute_dtype

    def block(self, start: int, stop: int) -> Array:
        """Return coordinates start to stop of every update, as a new (n_clients, stop - start) array."""
        if self.mixing is not None:
            return _sums(self.mixing, self.unmixed.block(start, stop))
        block = np.empty((len(self), stop - start), dtype=self.dtype)
        for layer, inside, at in self.pieces(start, stop):
            for row, arrays in enumerate(self.arrays):
                try:
                    block[row, at] = widened(flat_piece(arrays[layer], inside), self.dtype)
                except Unfit as reason:  # a file that its owner has changed
                    self.refuse(np.arange(len(self)) == row, str(reason))
            if self.base is not None:
                with np.errstate(over="ignore", invalid="ignore"):
                    block[:, at] -= widened(flat_piece(self.base[layer], inside), self.dtype)
        return block

    def at(self, where: NDArray[np.int64]) -> Array:
        """Return the coordinates at these places, which are in order, of every update.

        >>> rows_of(np.arange(8.0).reshape(2, 4)).at(np.array([0, 3]))
        array([[0., 3.],
               [4., 7.]])
        """
        if self.mixing is not None:
            return _sums(self.mixing, self.unmixed.at(where))
        block = np.empty((len(self), len(where)), dtype=self.dtype)
        cuts, offsets = np.searchsorted(where, self.layout.offsets).tolist(), self.layout.offsets
        pieces = [
            (layer, Places.of(where[first:last] - offsets[layer]), slice(first, last))
            for layer, (first, last) in enumerate(pairwise(cuts))
            if first < last
        ]

        def take(rows: slice) -> None:
            for row, (layer, inside, at) in product(range(rows.start, rows.stop), pieces):
                try:
                    block[row, at] = widened(taken(self.arrays[row][layer], inside), self.dtype)
                except Unfit as reason:  # a file that its owner has made shorter
                    self.refuse(np.arange(len(self)) == row, str(reason))

        in_parts(take, len(self))
        if self.base is not None:
            for layer, inside, at in pieces:
                with np.errstate(over="ignore", invalid="ignore"):
                    block[:, at] -= widened(taken(self.base[layer], inside), self.dtype)
        return block

    def empty(self) -> Array:
        """Return room for one flat update."""
        make = np.empty if self.home is None else self.home.empty
        return make(self.dim, self.dtype)

    def columns(self, start: int, stop: int) -> "Rows":
        """Return the same rows, here, of coordinates start to stop alone, which are then counted from 0.

        >>> rows_of(np.arange(8.0).reshape(2, 4)).columns(1, 3).block(0, 2)
        array([[1., 2.],
               [5., 6.]])
        """
        pieces = [(layer, inside) for layer, inside, _ in self.pieces(start, stop)]
        layers = [
            Layer((inside.stop - inside.start,), self.layout.layers[layer].dtype) for layer, inside in pieces
        ]

        def cut(arrays: tuple[Array | Stored, ...]) -> tuple[Array | Stored, ...]:
            return tuple(part_of(arrays[layer], inside) for layer, inside in pieces)

        return replace(
            self,
            layout=Layout(tuple(layers), is_single=False, flat_dtype=self.dtype),
            arrays=tuple(cut(arrays) for arrays in self.arrays),
            base=None if self.base is None else cut(self.base),
            home=None,
        )

    def limits(self, start: int, stop: int) -> Array:
        """Return the largest magnitude that each coordinate's own type can hold."""
        limits = np.empty(stop - start, dtype=self.dtype)
        for layer, _, at in self.pieces(start, stop):
            limits[at] = FLOATS[self.layout.layers[layer].type_name]
        return limits

    def select(self, clients: Sequence[int] | NDArray[np.intp]) -> "Rows":
        """Return the rows of these clients only; what is wrong with one is told by its position here."""
        if self.mixing is not None:
            return replace(self, mixing=self.mixing[np.asarray(clients)])
        before = range(len(self)) if self.positions is None else self.positions
        return replace(
            self,
            arrays=tuple(self.arrays[client] for client in clients),
            positions=tuple(before[client] for client in clients),
        )

    def mixed(self, weights: NDArray[np.float64]) -> "Rows":
        """Return sums of the rows, one per row of weights. Each pass makes them on its way, piece by piece.

        >>> rows_of(np.array([[1.0, 2.0], [3.0, 6.0]])).mixed(np.array([[0.5, 0.5]])).block(0, 2)
        array([[2., 4.]])
        """
        known = self.mixing
        mixing = weights if known is None else np.einsum("ij,jk->ik", weights, known)
        return replace(self, mixing=np.ascontiguousarray(mixing, dtype=np.float64))

    @property
    def unmixed(self) -> "Rows":
        """The clients' own rows, of which these may be sums."""
        return self if self.mixing is None else replace(self, mixing=None)

    @property
    def n_held(self) -> int:
        """How many rows a pass holds at a time: what it works on and, of sums, what they are made of."""
        return len(self) + (0 if self.mixing is None else len(self.arrays))

    def around(self, center: int) -> "Rows":
        """Return all rows less one of them."""
        if self.mixing is not None:
            return replace(self, mixing=self.mixing - self.mixing[center])
        return replace(self, base=self.arrays[center])

    def refuse(self, is_bad: Array, problem: str = "NaN, infinite or overflowing values") -> None:
        """Raise NonFiniteError if any row is bad, naming all that are or have a part in it."""
        bad = np.flatnonzero(is_bad).tolist()
        if self.mixing is not None:
            bad = np.flatnonzero(self.mixing[bad].any(axis=0)).tolist()
        if bad:
            raise NonFiniteError(
                tuple(self.positions[row] if self.positions else row for row in bad), problem
            )

    def pieces(self, start: int, stop: int) -> Iterator[tuple[int, slice, slice]]:
        """Yield (layer, the part of it that lies in the block, the part of the block that it fills)."""
        offsets = self.layout.offsets
        first = int(np.searchsorted(offsets, start, side="right")) - 1
        for layer in range(first, len(self.layout.layers)):
            low, high = max(start, offsets[layer]), min(stop, offsets[layer + 1])
            if low >= stop:
                return
            if low < high:
                offset = offsets[layer]
                yield layer, slice(low - offset, high - offset), slice(low - start, high - start)


#: What a rule takes: an (n_clients, dim) array, a list with an array or a list of layers per client, or Rows.
Updates = Rows | ArrayLike | Sequence[Any]


def rows_of(updates: Updates, *, explain: bool = False) -> Rows:
    """Return the updates as Rows, which every rule works on.

    >>> len(rows_of([[np.zeros((2, 2)), np.zeros(3)], [np.ones((2, 2)), np.ones(3)]]))
    2
    """
    if isinstance(updates, Rows):
        found = replace(updates, explain=updates.explain or explain)
    else:
        found = Rows(*read_rows(sent_by_clients(updates)), explain=explain)
    if len(found) == 0:
        raise TooFewClientsError("a rule needs at least 1 client; got none")
    return found


def _sums(weights: NDArray[np.float64], block: Array) -> Array:
    """Return weighted sums of rows, in float64 and in the order of the rows, as the compiled loops add."""
    sums = np.zeros((len(weights), block.shape[1]))
    for column, row in zip(weights.T, block, strict=True):
        used = column != 0
        sums[used] += column[used, None] * row.astype(np.float64)
    return sums.astype(block.dtype)
