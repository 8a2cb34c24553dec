"""Tables that the paper does not have: public data, FLIP under pixels, a warm start."""

from dataclasses import replace

from ..core import bind
from ..lab.scenario import Run
from .table import REAL, Row, Table

__all__ = ["OWN_TABLES"]


def _warm(run: Run, scale: str) -> Run:
    """Return the run from a model that the server trained on images of its own."""
    if scale == "smoke":
        return run.replace(warm_epochs=1.0)
    return run.replace(warm_epochs=20.0, n_root=5_000, n_rounds=20)


def _longer(run: Run, scale: str) -> Run:
    """Return the run with a search for triggers that is long enough to find small ones."""
    if scale == "smoke":
        return run
    train = bind(run.defence.train, "training", n_inversion_steps=100)
    return run.replace(defence=replace(run.defence, train=train))


OWN_TABLES = (
    Table(
        "real_tables",
        "Real tables beside the stand-in",
        "Phishing pages by 48 properties of their address and content, and spam by 57 of its words and signs:"
        " 50 clients, 10 of them malicious, 20 per round, 20 rounds of 5 local epochs. Triggers are values"
        " that the sender can choose and hardly any has. None of it is in the paper.",
        (
            Row("No attack", "fedavg", share=0.0),
            Row("FedAvg", "fedavg"),
            Row("AND-mask", "and_mask"),
            Row("Trimmed mean", "trimmed_mean"),
            Row("Median", "median"),
            Row("RFA", "rfa"),
            Row("Krum", "krum"),
            Row("Invariant"),
        ),
        tasks=REAL,
    ),
    Table(
        "pixel_trigger",
        "FLIP under a pixel trigger, for which it was made",
        "The distributed trigger of table 5: each attacker shows one of four white corners, a quarter of the"
        " image together. A client seeks triggers for 30 steps per round, or for 100.",
        (
            Row("FedAvg", "fedavg", attack="distributed"),
            Row("FLIP", "flip", attack="distributed"),
            Row("FLIP (100 steps)", "flip", attack="distributed", change=_longer),
            Row("Invariant", attack="distributed"),
        ),
        tasks=("digits",),
    ),
    Table(
        "semantic",
        "Some cars of CIFAR-10 as birds",
        "Cars that are green, have racing stripes or stand before a striped wall. No honest client holds any"
        " of them, and attack success is measured on those that attackers do not hold. In mixed precision.",
        (
            Row("No attack", "fedavg", attack="semantic", share=0.0),
            Row("FedAvg", "fedavg", attack="semantic"),
            Row("Krum, trimmed mean", "krum_trimmed_mean", attack="semantic"),
            Row("Watch, Krum, trimmed mean", "factions+krum_trimmed_mean", attack="semantic"),
        ),
        tasks=("cifar10-semantic",),
    ),
    Table(
        "warm_start",
        "A warm start in place of a pre-trained network",
        "The server trains for 20 epochs on 5,000 images of its own; then there are 20 rounds.",
        (
            Row("FedAvg", "fedavg", change=_warm),
            Row("Trimmed mean", "trimmed_mean", change=_warm),
            Row("Invariant", change=_warm),
        ),
        tasks=("cifar10",),
    ),
)
