"""Dot products of all pairs of many rows, block by block.

So threads share the pairs, caches hold what is multiplied, and memory holds little but the result.
Each product is added up as in a pass over the cells, and has the same bits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import for_each
from ..updates.rows import CELL, Rows
from ._forms import Source
from ._reader import Reader
from .passes import Total

__all__ = ["BLOCK", "gram"]

Array = NDArray[Any]

#: Rows in a block, a multiple of four. Never changes a result.
BLOCK = 128


def gram(rows: Rows, beside: Array) -> Total:
    """Return how many bad values each row has, and the products of all pairs, of the row beside them, too."""
    n, size = len(rows), len(rows) + (beside.size > 0)
    ends = [*range(BLOCK, n, BLOCK), size]  # the row beside the others is in the last block
    blocks = [slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False)]
    readers = [Reader.of(rows.select(range(block.start, min(block.stop, n)))) for block in blocks]
    n_bad, products = np.zeros(n, dtype=np.int64), np.empty((size, size))

    def multiply(pair: tuple[int, int]) -> None:
        i, j = pair
        own = beside if blocks[j].stop == size else beside[:0]
        found, bad = _products(readers[i], readers[j], own, rows.dim)
        products[blocks[j], blocks[i]] = found.T
        products[blocks[i], blocks[j]] = found
        if i == j:
            n_bad[blocks[i].start : blocks[i].start + len(bad)] = bad

    for_each(multiply, [(i, j) for i in range(len(blocks)) for j in range(i, len(blocks))])
    return Total(n_bad, products)


def _products(first: Reader, second: Reader, beside: Array, dim: int) -> tuple[Array, Array]:
    """Return the products of the rows of two readers, which may be one, and the bad values of all rows."""
    from ._sums import gram as multiply

    is_one = first is second
    n_first, n_second = len(first.rows), len(second.rows) + (beside.size > 0)
    n_skipped = 0 if is_one else n_first
    n_columns = -(-(n_skipped + n_second) // 4) * 4
    shape = (n_columns if is_one else n_first, n_columns)
    total, bad = np.zeros(shape), np.zeros(n_skipped + len(second.rows), dtype=np.int64)
    for start in range(0, dim, CELL):
        stop = min(start + CELL, dim)
        source, copies = second.at(start, stop)
        if not is_one:
            other, more = first.at(start, stop)
            source, copies = _joined(other, source), [*copies, *more]
        cell = np.zeros(shape)
        multiply(source, beside, start, stop, n_skipped, cell, bad)
        total += cell
        del copies  # not before: the source points into them
    if is_one:  # each row was multiplied with those that follow it
        upper = np.triu(total[:n_second, :n_second])
        return upper + np.triu(upper, 1).T, bad
    return total[:, n_skipped : n_skipped + n_second], bad


def _joined(first: Source, second: Source) -> Source:
    """Return the rows of both, one after the other."""
    return second._replace(
        addresses=np.concatenate([first.addresses, second.addresses], axis=1),
        kinds=np.concatenate([first.kinds, second.kinds], axis=1),
    )
