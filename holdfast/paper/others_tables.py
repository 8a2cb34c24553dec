"""Tables that others published, in their settings: Flower's own strategies, and the baselines of FDCR.

Their numbers are in printed.csv, too. A row of Flower's runs Flower's own code in the simulator.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ..lab.data.split import dirichlet
from ..lab.scenario import Defence, Run
from .flower_rules import flower_fedavg, flower_median, flower_multi_krum, flower_trimmed_avg
from .table import Row, Table

__all__ = ["OTHERS", "OTHERS_TABLES"]

#: The tasks of these tables.
OTHERS = ("flower-fmnist", "fdcr-cifar10")

#: Flower's strategies by the name they are published under, and ours that do the same.
PAIRS: tuple[tuple[str, Any, str, dict[str, Any]], ...] = (
    ("FedAvg", flower_fedavg, "fedavg", {}),
    ("FedTrimmedAvg", flower_trimmed_avg(beta=0.2), "trimmed_mean", {"trimmed_mean.alpha": 0.2}),
    ("FedMedian", flower_median, "median", {}),
    ("MultiKrum", flower_multi_krum(n_malicious=2, n_selected=8), "multi_krum", {"weighted": True}),
)

SETTING = (
    " 10 clients, all in every round, 2 of them malicious: in 15 % of their images a corner of 3 x 3 pixels"
    " is white, labelled as trousers. The scale paper has the published 4,800 images per client and a rate of"
    " .01, cpu 1,200 images and .04: at .01, so few hardly teach plain averaging the backdoor."
    " Poisoned images come on top of a client's own, where theirs replace some, and attack success is"
    " measured on test images, not on what clients hold back. Rows of Flower run Flower's own code in our"
    " simulator, and need the extra `flower`."
)


def _skewed(run: Run, scale: str) -> Run:
    """Return the run with images dealt so that most clients hold few classes."""
    return run.replace(split=partial(dirichlet, alpha=0.1))


def _by(rule: Any, change: Callable[[Run, str], Run] | None) -> Callable[[Run, str], Run]:
    """Return what puts a rule that has no name of its own into a run, and changes it further."""

    def changed(run: Run, scale: str) -> Run:
        run = run if change is None else change(run, scale)
        return run.replace(defence=Defence(rule.name, rule))

    return changed


def _flower_rows(change: Callable[[Run, str], Run] | None = None) -> tuple[Row, ...]:
    """Return each strategy of Flower's, the rule of ours that does the same, and ours that do more."""
    plain = Row("", attack="patch", change=change)
    rows = [replace(plain, label="No attack", defence="fedavg", share=0.0)]
    for label, theirs, name, settings in PAIRS:
        rows.append(replace(plain, label=f"Flower: {label}", defence=name, change=_by(theirs, change)))
        rows.append(replace(plain, label=f"ours: {name}", defence=name, settings=settings))
    for name in ("krum", "rfa", "invariant", "factions+fedavg", "factions+trimmed_mean"):
        rows.append(replace(plain, label=f"ours: {name}", defence=name))
    return tuple(rows)


OTHERS_TABLES = (
    Table(
        "flower_fmnist",
        "Flower's own strategies under a patch on Fashion-MNIST",
        "Published: mean of 15 runs after 40 rounds." + SETTING,
        _flower_rows(),
        tasks=("flower-fmnist",),
        printed_by="their study",
    ),
    Table(
        "flower_fmnist_skewed",
        "The same, with images dealt by a Dirichlet distribution",
        "Published: mean of 15 runs after 40 rounds, α = 0.1." + SETTING,
        _flower_rows(_skewed),
        tasks=("flower-fmnist",),
        printed_by="their study",
    ),
    Table(
        "fdcr_cifar10",
        "The baselines of FDCR under a patch on CIFAR-10",
        "10 clients, all in every round, 2 of them malicious: half of their images have two rows of six white"
        " pixels, labelled as birds. Images are dealt by a Dirichlet distribution with α = 0.5. Published:"
        " mean of the last five of 50 rounds of 10 local epochs on all images, as the scale paper has it; cpu"
        " has 10,000 images and 30 rounds of 5 epochs.",
        tuple(
            Row(label, defence, attack="patch", share=0.0 if label == "No attack" else None)
            for label, defence in (
                ("No attack", "fedavg"),
                ("FedAvg", "fedavg"),
                ("Multi-Krum", "multi_krum"),
                ("FoolsGold", "foolsgold"),
                ("RLR", "rlr"),
                ("DnC", "dnc"),
                ("Multi-Metrics", "multi_metrics"),
                ("Trimmed mean", "trimmed_mean"),
                ("Median", "median"),
                ("Bulyan", "bulyan"),
                ("RFA", "rfa"),
                ("FLTrust", "fltrust"),
                ("CRFL", "crfl"),
                ("Invariant", "invariant"),
                ("Watch, FedAvg", "factions+fedavg"),
            )
        ),
        tasks=("fdcr-cifar10",),
        printed_by="FDCR",
    ),
)
