"""Figure 6: how much hangs on τ, on α and on the clients a round."""

from collections.abc import Iterable

from .experiment import Experiment
from .rows import LIKE_CIFAR10, Row, cells_of

__all__ = ["ALPHAS", "PER_ROUND", "TAUS", "figure6a", "figure6b", "figure6c"]

TAUS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
ALPHAS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
PER_ROUND = (5, 10, 15, 20, 25, 30)

NOTE = "Digits stand in for CIFAR-10; the paper does not have this on phishing. It prints no numbers."


def figure6a(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = LIKE_CIFAR10) -> Experiment:
    """Return the sweep of τ, at α = 0.25.

    >>> figure6a().rows[2]
    'τ = 0.2'
    """
    rows = [Row(f"τ = {tau}", settings={"invariant.tau": tau}, x=tau) for tau in TAUS]
    return _figure("figure6a", "τ, agreement of signs needed", rows, scale, n_seeds, tasks)


def figure6b(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = LIKE_CIFAR10) -> Experiment:
    """Return the sweep of α, at τ = 0.2.

    >>> figure6b().rows[0]
    'α = 0.0'
    """
    rows = [
        Row(f"α = {alpha}", settings={"invariant.tau": 0.2, "invariant.alpha": alpha}, x=alpha)
        for alpha in ALPHAS
    ]
    return _figure("figure6b", "α, share trimmed at each end (τ = 0.2)", rows, scale, n_seeds, tasks)


def figure6c(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = LIKE_CIFAR10) -> Experiment:
    """Return the sweep of the clients drawn a round, a fifth of all malicious.

    >>> figure6c().rows[1]
    '10 clients'
    """
    rows = [Row(f"{count} clients", n_per_round=count, x=count) for count in PER_ROUND]
    return _figure("figure6c", "clients a round", rows, scale, n_seeds, tasks)


def _figure(
    name: str, axis: str, rows: list[Row], scale: str, n_seeds: int, tasks: Iterable[str]
) -> Experiment:
    wanted = [task for task in tasks if task in LIKE_CIFAR10]
    cells = cells_of(rows, wanted, scale=scale, n_seeds=n_seeds, stands_in=True)
    title = f"Figure {name.removeprefix('figure')}: {axis.partition(',')[0].partition(' (')[0]}"
    return Experiment(name, title, "figure", NOTE, cells, axis=axis)
