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
OTHERS = (
    "flower-fmnist",
    "fdcr-cifar10",
    *("fdcr-fmnist", "fdcr-cifar10-full", "gsc-cifar10", "neuroforensics-mnist"),
)

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
    " measured on test images, not on what clients hold back."
)
NEEDS_FLOWER = " Rows of Flower run Flower's own code in our simulator, and need the extra `flower`."


Defences = tuple[tuple[str, str, dict[str, Any]], ...]

#: Ours beside theirs, by row: the defence and its settings.
OURS: Defences = (
    ("Invariant", "invariant", {}),
    ("Krum, trimmed mean", "krum_trimmed_mean", {}),
    ("FLAME", "flame", {}),
    ("Watch, FedAvg", "factions+fedavg", {}),
    ("Watch, Krum, trimmed mean", "factions+krum_trimmed_mean", {}),
    ("Watch, FLAME", "factions+flame", {}),
)

#: Where three of ten clients attack, who trims has to trim three.
OURS_OF_TEN: Defences = (("Invariant", "invariant", {"invariant.alpha": 0.3}), *OURS[1:])

#: The rules of FDCR's table 4 that we have. Of ten clients our Bulyan withstands two attackers at most.
FDCR_RULES: Defences = (
    ("FedAvg", "fedavg", {}),
    ("Multi-Krum", "multi_krum", {}),
    ("FoolsGold", "foolsgold", {}),
    ("RLR", "rlr", {}),
    ("DnC", "dnc", {}),
    ("Multi-Metrics", "multi_metrics", {}),
    ("Trimmed mean", "trimmed_mean", {"trimmed_mean.alpha": 0.3}),
    ("Median", "median", {}),
    ("Bulyan", "bulyan", {"bulyan.n_malicious": 2}),
    ("RFA", "rfa", {}),
    ("FLTrust", "fltrust", {}),
)

#: Of the GSC entry and of NeuroForensics. FLAME is among ours.
GSC_RULES: Defences = (
    ("FedAvg", "fedavg", {}),
    ("Krum", "krum", {}),
    ("Multi-Krum", "multi_krum", {"weighted": True}),
    ("FLTrust", "fltrust", {}),
)
NEUROFORENSICS_RULES: Defences = (
    ("FedAvg", "fedavg", {}),
    ("Median", "median", {}),
    ("AlignIns", "align_ins", {}),
)

FLOWER_RULES_OF_TEN: Defences = (
    ("FedAvg", "fedavg", {}),
    ("Trimmed mean", "trimmed_mean", {"trimmed_mean.alpha": 0.3}),
    ("Median", "median", {}),
    ("Multi-Krum", "multi_krum", {"weighted": True}),
)

FDCR_SETTING = (
    " All 10 clients are in every round, and 3 are malicious. Half of each of their batches has two rows of"
    " six grey pixels and the label 2. The size is the published one at the scale cpu, too: 50 rounds of 10"
    " local epochs, on 45,000 images of CIFAR-10 or 54,000 of Fashion-MNIST. Published: one run. Our clients"
    " crop and flip their images once per round, and have no weight decay (1e-5 in FDCR). Fashion-MNIST"
    " keeps its 28 x 28 pixels. Our attack success leaves out images of the target's own class. FDCR counts"
    " them, a tenth of all: there, a model without a backdoor has an attack success of up to .10. Our Bulyan"
    " assumes 2 attackers, the most that it withstands among 10 clients. FDCR's numbers beside our median"
    " are those of a trimmed median."
)


def _dealt(alpha: float) -> Callable[[Run, str], Run]:
    """Return the change of a run that deals images by a Dirichlet distribution."""

    def changed(run: Run, scale: str) -> Run:
        return run.replace(split=partial(dirichlet, alpha=alpha))

    return changed


def _rows(
    defences: Defences,
    *,
    attack: str = "patch",
    prefix: str = "",
    share: float | None = None,
    change: Callable[[Run, str], Run] | None = None,
) -> tuple[Row, ...]:
    """Build a row for each defence under an attack, after one without attackers.

    Args:
        defences: The name of the row, the defence, and its settings.
        attack: The name of the attack.
        prefix: What the names of the rows begin with.
        share: The share of clients that attack, if not the task's own.
        change: What is changed in every run.
    """
    clean = Row(f"{prefix}No attack", "fedavg", attack, share=0.0, change=change)
    attacked = (
        Row(f"{prefix}{label}", name, attack, settings=settings, share=share, change=change)
        for label, name, settings in defences
    )
    return (clean, *attacked)


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
        "Published: mean of 15 runs after 40 rounds." + SETTING + NEEDS_FLOWER,
        _flower_rows(),
        tasks=("flower-fmnist",),
        printed_by="their study",
    ),
    Table(
        "flower_fmnist_skewed",
        "The same, with images dealt by a Dirichlet distribution",
        "Published: mean of 15 runs after 40 rounds, α = 0.1." + SETTING + NEEDS_FLOWER,
        _flower_rows(_dealt(0.1)),
        tasks=("flower-fmnist",),
        printed_by="their study",
    ),
    Table(
        "flower_fmnist_three",
        "The same with three attackers, who can be a faction",
        "Nothing is published of three attackers. Images are dealt by a Dirichlet distribution, α = 0.1."
        + SETTING.replace("2 of them", "3 of them"),
        _rows((*FLOWER_RULES_OF_TEN, *OURS_OF_TEN), share=0.3, change=_dealt(0.1)),
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
    Table(
        "fdcr_beta05",
        "FDCR's table 4 with three attackers, β = 0.5",
        "Images are dealt by a Dirichlet distribution with β = 0.5." + FDCR_SETTING,
        _rows((*FDCR_RULES, *OURS_OF_TEN)),
        tasks=("fdcr-fmnist", "fdcr-cifar10-full"),
        printed_by="FDCR",
        n_last=5,
    ),
    Table(
        "fdcr_beta03",
        "FDCR's table 4 with three attackers, β = 0.3",
        "Images are dealt by a Dirichlet distribution with β = 0.3." + FDCR_SETTING,
        _rows((*FDCR_RULES, *OURS_OF_TEN), change=_dealt(0.3)),
        tasks=("fdcr-fmnist", "fdcr-cifar10-full"),
        printed_by="FDCR",
        n_last=5,
    ),
    Table(
        "gsc_cifar10",
        "An entry of the IEEE GSC 2026 challenge, on CIFAR-10",
        "Of 20 clients, 10 are in every round, and 4 are malicious. Half of each of their batches has the"
        " label airplane and bright pixels: a corner of 4 x 4 (BadNets), or a quarter of it per attacker"
        " (DBA). The size is the published one at the scale cpu, too: 30 rounds of 2 local epochs on all"
        " images, dealt by a Dirichlet distribution with α = 0.5. Published: one run. Our network has no"
        " dropout, our clients crop and flip their images once per round, and our corner of DBA is the upper"
        " left one, theirs the lower right.",
        (
            *_rows((*GSC_RULES, *OURS), prefix="BadNets: "),
            *_rows((*GSC_RULES, *OURS), attack="distributed", prefix="DBA: ")[1:],
        ),
        tasks=("gsc-cifar10",),
        printed_by="the entry",
    ),
    Table(
        "neuroforensics_mnist",
        "A learned trigger on MNIST, as published by NeuroForensics",
        "Of 20 clients, 10 are in every round, and 4 are malicious. Before they train, they learn a corner"
        " of 4 x 4 pixels by A3FL. A fifth of each of their batches has it, and the label 7. The size is the"
        " published one at the scale cpu, too: 100 rounds of one local epoch in batches of ten, images dealt"
        " by a Dirichlet distribution with α = 0.7. Published: a README without seeds, and without all"
        " settings of the attack. Our attackers learn one trigger together, theirs one each. We test on"
        " MNIST's test images, they on a quarter of every client's.",
        _rows((*NEUROFORENSICS_RULES, *OURS), attack="a3fl"),
        tasks=("neuroforensics-mnist",),
        printed_by="NeuroForensics",
    ),
)
