"""Two public tables beside the synthetic stand-in for phishing mail: not in the paper."""

from collections.abc import Iterable

from .experiment import Experiment
from .rows import REAL, Row, cells_of

__all__ = ["real_tables"]

DEFENCES = {
    "FedAvg": "fedavg",
    "AND-mask": "and_mask",
    "Trimmed mean": "trimmed_mean",
    "Median": "median",
    "RFA": "rfa",
    "Krum": "krum",
    "Invariant": "invariant",
}

ROWS = (
    Row("No attack", "fedavg", share=0.0, tasks=REAL),
    *(Row(label, defence, tasks=REAL) for label, defence in DEFENCES.items()),
)

NOTE = (
    "Phishing pages by 48 properties of their address and content, and spam by 57 of its words and signs: 50"
    " clients, 10 of them malicious, 20 a round, 20 rounds of 5 local epochs. Triggers are values that the"
    " sender can choose and hardly any has. None of it is in the paper."
)


def real_tables(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = REAL) -> Experiment:
    """Return the edge case on public tables.

    >>> real_tables().columns
    ('phishing-urls', 'spambase')
    """
    cells = cells_of(ROWS, tasks, scale=scale, n_seeds=n_seeds)
    return Experiment("real_tables", "Real tables beside the stand-in", "table", NOTE, cells)
