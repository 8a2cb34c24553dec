"""Made-up updates, in the form each contender takes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Updates"]

Array = NDArray[np.float32]


class Updates:
    """The updates of one round: separate rows as a server receives them; other forms are made when asked for.

    A signal that all clients share, and noise of each one's own as large as it.
    """

    def __init__(self, n_clients: int, dim: int, *, seed: int = 0) -> None:
        signal = np.random.default_rng([seed, n_clients]).standard_normal(dim, dtype=np.float32)
        self.rows: list[Array] = []
        for client in range(n_clients):
            row = np.random.default_rng([seed, client]).standard_normal(dim, dtype=np.float32)
            row += signal
            row *= np.float32(0.01)
            self.rows.append(row)
        self._matrix: Array | None = None

    @property
    def matrix(self) -> Array:
        """The rows stacked, once."""
        if self._matrix is None:
            self._matrix = np.stack(self.rows)
        return self._matrix

    def given_as(self, form: str) -> Any:
        """Return the updates in a form; all but Flower's records share memory with the rows or the matrix."""
        return FORMS[form](self)


def _tensor(updates: Updates) -> Any:
    import torch

    return torch.from_numpy(updates.matrix)


def _records(updates: Updates) -> list[Any]:
    from flwr.app import ArrayRecord, MetricRecord, RecordDict

    return [
        RecordDict({"arrays": ArrayRecord([row]), "metrics": MetricRecord({"num-examples": 1})})
        for row in updates.rows
    ]


FORMS: dict[str, Callable[[Updates], Any]] = {
    "rows": lambda updates: updates.rows,
    "matrix": lambda updates: updates.matrix,
    "tensor": _tensor,
    "results": lambda updates: [([row], 1) for row in updates.rows],
    "records": _records,
}
