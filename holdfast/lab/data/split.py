"""How examples are dealt to clients: labels in, one array of positions per client out."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError

__all__ = ["dirichlet", "everything", "iid"]

Array = NDArray[Any]
Shards = list[NDArray[np.intp]]


def iid(labels: Array, *, n_clients: int, rng: np.random.Generator) -> Shards:
    """Return equal shares of the shuffled examples.

    >>> [len(shard) for shard in iid(np.zeros(10), n_clients=3, rng=np.random.default_rng(0))]
    [4, 3, 3]
    """
    _check(labels, n_clients)
    return list(np.array_split(rng.permutation(len(labels)), n_clients))


def everything(labels: Array, *, n_clients: int) -> Shards:
    """Return all examples for everybody: the paper's "i.i.d. (full)".

    >>> [len(shard) for shard in everything(np.zeros(10), n_clients=2)]
    [10, 10]
    """
    check_whole("n_clients", n_clients, at_least=1)
    return [np.arange(len(labels))] * n_clients


def dirichlet(
    labels: Array, *, alpha: float = 0.5, n_least: int = 10, n_clients: int, rng: np.random.Generator
) -> Shards:
    """Return shares of each class drawn from a Dirichlet law, nobody far above an equal share.

    The rule of the edge-case code (Wang et al., 2020, https://arxiv.org/abs/2007.05084): a client that
    already holds an equal share gets nothing of the next class; all is drawn again until everybody has
    `n_least`.

    >>> shards = dirichlet(np.arange(1000) % 10, n_clients=5, rng=np.random.default_rng(0))
    >>> sum(map(len, shards))
    1000
    """
    _check(labels, n_clients)
    if not 0 < alpha < np.inf:
        raise InputError(f"alpha, how even the shares are, must be a finite number above 0; got {alpha!r}")
    for _ in range(1000):
        shards: list[list[int]] = [[] for _ in range(n_clients)]
        for label in np.unique(labels):
            examples = rng.permutation(np.flatnonzero(labels == label))
            room = np.array([len(shard) < len(labels) / n_clients for shard in shards])
            shares = rng.dirichlet(np.full(n_clients, alpha)) * room
            cuts = (np.cumsum(shares / shares.sum())[:-1] * len(examples)).astype(int)
            for shard, part in zip(shards, np.split(examples, cuts), strict=True):
                shard.extend(part.tolist())
        if min(map(len, shards)) >= n_least:
            return [rng.permutation(shard) for shard in shards]
    raise InputError(
        f"no split of {len(labels)} examples over {n_clients} clients gave each {n_least} in 1000 draws at"
        f" alpha={alpha}: take fewer clients, a larger alpha or a smaller n_least"
    )


def _check(labels: Array, n_clients: int) -> None:
    check_whole("n_clients", n_clients, at_least=1)
    if len(labels) < n_clients:
        raise InputError(f"{n_clients} clients need at least as many examples; got {len(labels)}")
