"""The paper's own network on CIFAR-10, a ResNet-18 with 11,689,512 parameters, under three protocols."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..lab.presets import PAPER_NETWORK, RELEASED, WARM_NETWORK
from ..lab.scenario import Run, Task
from ..lab.tasks import task_named
from ..lab.training import crop_and_flip, mixed_sgd
from .cifar10_tables import TAUS
from .table import Row, Table

__all__ = [
    "DECIDES_TABLE",
    "LONG_TABLE",
    "NETWORKS",
    "NETWORK_TABLE",
    "NETWORK_TABLES",
    "PROTOCOL_TABLES",
    "RELEASED_SETTINGS",
    "RELEASED_TABLE",
    "WARM_TABLE",
]

_PRINTED = Row("Invariant", settings={"invariant.tau": 0.2, "invariant.alpha": 0.25})
_TAU_6 = Row("Invariant (τ 0.6)", settings={"invariant.tau": 0.6, "invariant.alpha": 0.25})
#: The row of the rule with the settings that the released code has written into it.
RELEASED_SETTINGS = "Invariant (released code: τ 0.6, α 0.45)"
_RELEASED = Row(RELEASED_SETTINGS, settings={"invariant.tau": 0.6, "invariant.alpha": 0.45})
_WATCH = "factions+krum_trimmed_mean"

#: BatchNorm's statistics as in all other tasks: clients send them, and both rates are measured with them.
_SENT = {"statistics": "sent"}

_Table = partial(Table, printed_in=("table1", "table4"))


def _note(task: Task, rest: str, scale: str) -> str:
    """Return what the runs of this scale are, and the rest of a note."""
    own = task_named(task.name, scale=scale)
    model, data = dict(own.model.settings), dict(own.data.settings)
    network = "ResNet-18" if model["width"] == 64 else f"ResNet-18 of width {model['width']} in place of 64"
    start = " from ImageNet weights" if model["weights"] else ""
    return (
        f"{network}{start}, {data['n_train']:,} images, {own.n_rounds} rounds (the paper: 300),"
        f" {own.n_per_round} of {own.n_clients} clients per round, a fifth of them malicious. {rest}"
    )


#: Rows are made in this order, the first seed of all before the second of any.
NETWORK_TABLE = _Table(
    "paper_network",
    "The paper's own network: ResNet-18 from ImageNet weights",
    partial(
        _note,
        PAPER_NETWORK,
        "Rate 0.01 and momentum 0.9, batches of 64 of which attackers replace 8 by backdoor images, Dirichlet"
        " with α = 0.5. Honest and backdoor images are scaled alike.",
    ),
    (
        Row("FedAvg", "fedavg"),
        _RELEASED,
        _PRINTED,
        Row("Trimmed mean", "trimmed_mean"),
        Row("No attack", "fedavg", share=0.0),
        _TAU_6,
        Row("Watch, Krum, trimmed mean", _WATCH),
        Row("AND-mask", "and_mask"),
        Row(
            "Invariant (> in place of ≥)",
            settings={"invariant.tau": 0.2, "invariant.alpha": 0.25, "invariant.strict": True},
            most_seeds=1,
        ),
        Row("Median", "median", most_seeds=1),
        Row("RLR", "rlr", most_seeds=1),
        Row("RFA", "rfa", most_seeds=1),
        Row("Krum", "krum", most_seeds=1),
        Row("Multi-Krum", "multi_krum", most_seeds=1),
        Row("Krum, trimmed mean", "krum_trimmed_mean", most_seeds=1),
        Row("FLTrust", "fltrust", most_seeds=1),
        Row("FLAME", "flame", most_seeds=1),
        Row("Watch, FedAvg", "factions+fedavg", most_seeds=1),
    ),
    tasks=(PAPER_NETWORK.name,),
)

RELEASED_TABLE = _Table(
    "paper_released",
    "The paper's released code, to the letter",
    partial(
        _note,
        RELEASED,
        "As the released code has it: honest images from 0 to 255 and backdoor images from 0 to 1, the"
        " statistics of BatchNorm never sent. Accuracy is measured with those of the worker that trains the"
        " clients, attack success with those that the server's model has from the start. In the last rows"
        " clients send them, and both rates are measured with the server's.",
    ),
    (
        Row("FedAvg", "fedavg"),
        _RELEASED,
        _PRINTED,
        Row("Trimmed mean", "trimmed_mean"),
        Row("No attack", "fedavg", share=0.0),
        Row("AND-mask", "and_mask", most_seeds=1),
        Row("Median", "median", most_seeds=1),
        Row("Krum, trimmed mean", "krum_trimmed_mean", most_seeds=1),
        Row("Watch, Krum, trimmed mean", _WATCH, most_seeds=1),
        *(
            replace(
                row, label=f"{row.label}, statistics sent", settings={**_SENT, **row.settings}, most_seeds=1
            )
            for row in (Row("FedAvg", "fedavg"), _RELEASED, _PRINTED, Row("Trimmed mean", "trimmed_mean"))
        ),
    ),
    tasks=(RELEASED.name,),
)

LONG_TABLE = _Table(
    "paper_network_long",
    "The paper's own network for 300 rounds",
    "As the table of 100 rounds, for as many rounds as the paper has.",
    tuple(
        replace(row, change=lambda run, scale: run.replace(n_rounds=300) if scale == "cpu" else run)
        for row in (Row("FedAvg", "fedavg"), _RELEASED)
    ),
    tasks=(PAPER_NETWORK.name,),
    most_seeds=1,
)


def _changed(label: str, change: Callable[[Run], Run]) -> tuple[Row, Row]:
    """Return plain averaging and the released setting under a protocol with one change, for 50 rounds."""

    def change_at(run: Run, scale: str) -> Run:
        changed = change(run)
        return changed.replace(n_rounds=50) if scale == "cpu" else changed

    return (
        Row(f"FedAvg, {label}", "fedavg", change=change_at),
        replace(_RELEASED, label=f"Invariant (τ 0.6, α 0.45), {label}", change=change_at),
    )


def _warm(run: Run) -> Run:
    """Return the run from the warm start in place of ImageNet weights."""
    task = WARM_NETWORK
    return run.replace(model=task.model, n_root=task.n_root, warm_epochs=task.warm_epochs, warm=task.warm)


DECIDES_TABLE = Table(
    "paper_decides",
    "What decides in the paper's own network",
    "The table of 100 rounds after 50, with one change at a time. A third of poison is half a backdoor image"
    " per clean one. The mask is that of figure 6, with the trimmed mean of the released code.",
    (
        *_changed("unchanged", lambda run: run),
        *_changed("no momentum", lambda run: run.replace(train=partial(mixed_sgd, lr=0.01))),
        *_changed(
            "a third of poison", lambda run: run.replace(attack=replace(run.attack, poison_per_batch=0))
        ),
        *_changed("warm start", _warm),
        *_changed("crop and flip", lambda run: run.replace(augment=crop_and_flip)),
        *_changed("four attackers in every round", lambda run: replace(run, sampling="fixed")),
        *(
            Row(
                f"Invariant (α 0.45), τ = {tau}",
                settings={"invariant.tau": tau, "invariant.alpha": 0.45},
                change=lambda run, scale: run.replace(n_rounds=50) if scale == "cpu" else run,
            )
            for tau in TAUS
            if tau != 0.6
        ),
    ),
    tasks=(PAPER_NETWORK.name,),
    most_seeds=1,
)

WARM_TABLE = _Table(
    "paper_network_warm",
    "The paper's own network from a warm start",
    partial(
        _note,
        WARM_NETWORK,
        "The server trains the network on 10,000 of the images first, which clients then do not have. Rate"
        " 0.01 without momentum, half a backdoor image per clean one, crops and flips.",
    ),
    (
        Row("FedAvg", "fedavg"),
        _TAU_6,
        Row("Trimmed mean", "trimmed_mean"),
        Row("No attack", "fedavg", share=0.0),
        _PRINTED,
        Row("Watch, Krum, trimmed mean", _WATCH),
        Row("AND-mask", "and_mask"),
        _RELEASED,
    ),
    tasks=(WARM_NETWORK.name,),
    most_seeds=1,
)

#: One table for each protocol, and the tasks of these.
PROTOCOL_TABLES = (NETWORK_TABLE, RELEASED_TABLE, WARM_TABLE)
NETWORKS = tuple(task for table in PROTOCOL_TABLES for task in table.tasks)

NETWORK_TABLES = (NETWORK_TABLE, RELEASED_TABLE, LONG_TABLE, DECIDES_TABLE, WARM_TABLE)
