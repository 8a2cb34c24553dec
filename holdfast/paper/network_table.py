"""The paper's own network on CIFAR-10, a ResNet-18 with 11,689,512 parameters, under several protocols."""

from typing import Any

from ..lab.tasks import TASKS, task_named
from .table import Row, Table

__all__ = ["NETWORKS", "NETWORK_TABLE", "RELEASED_SETTINGS"]

#: Every task that trains this network: the paper's protocol, its release to the letter, and a warm start.
NETWORKS = tuple(name for name, task in TASKS.items() if task.model.name == "resnet18")
PAPER, RELEASED, WARM = "cifar10-resnet18", "cifar10-released", "cifar10-resnet18-warm"
BOTH, ALL = (PAPER, RELEASED), (PAPER, RELEASED, WARM)

#: The row of the rule with the settings that the released code has written into it.
RELEASED_SETTINGS = "Invariant (released code: τ 0.6, α 0.45)"


def _rows(
    label: str, *defence: str, three: tuple[str, ...] = (), one: tuple[str, ...] = (), **more: Any
) -> list[Row]:
    """Return a row measured with three seeds on some tasks, and with one on others: it takes long."""
    groups = ((three, None), (one, 1))
    return [Row(label, *defence, tasks=tasks, most_seeds=most, **more) for tasks, most in groups if tasks]


def _rule(tau: float, alpha: float = 0.25, **more: Any) -> dict[str, Any]:
    return {"invariant.tau": tau, "invariant.alpha": alpha} | more


def _note(scale: str) -> str:
    """Return what the runs of this scale are."""
    tasks = [task_named(name, scale=scale) for name in NETWORKS]
    width, images = dict(tasks[0].model.settings)["width"], dict(tasks[0].data.settings)["n_train"]
    network = (
        "ResNet-18 with 11,689,512 parameters" if width == 64 else f"A ResNet-18 of width {width}, not 64"
    )
    rounds = ", ".join(dict.fromkeys(f"{task.n_rounds}" for task in tasks))
    return (
        f"{network}, {images:,} images, {rounds} rounds; the paper has 300."
        f" {tasks[0].n_per_round} of {tasks[0].n_clients} clients per round. The numbers of its tables 1 and"
        " 4 stand beside ours."
    )


#: The most telling rows first, for they are made in this order.
NETWORK_TABLE = Table(
    "paper_network",
    "The paper's own network: ResNet-18",
    _note,
    (
        *_rows("FedAvg", "fedavg", three=BOTH, one=(WARM,)),
        *_rows(RELEASED_SETTINGS, three=BOTH, one=(WARM,), settings=_rule(0.6, 0.45)),
        *_rows("Invariant", three=BOTH, one=(WARM,)),
        *_rows("Trimmed mean", "trimmed_mean", three=BOTH, one=(WARM,)),
        *_rows("No attack", "fedavg", three=BOTH, one=(WARM,), share=0.0),
        *_rows("Invariant (τ 0.6)", three=(PAPER,), one=(WARM,), settings={"invariant.tau": 0.6}),
        *_rows("AND-mask", "and_mask", three=(PAPER,), one=(RELEASED, WARM)),
        *_rows(
            "Watch, Krum, trimmed mean", "factions+krum_trimmed_mean", three=(PAPER,), one=(RELEASED, WARM)
        ),
        *_rows("Invariant (mask with >)", one=(PAPER,), settings={"invariant.strict": True}),
        *_rows("Median", "median", one=BOTH),
        *_rows("Krum, trimmed mean", "krum_trimmed_mean", one=BOTH),
        *_rows("RLR", "rlr", one=(PAPER,)),
        *_rows("RFA", "rfa", one=(PAPER,)),
        *_rows("Krum", "krum", one=(PAPER,)),
        *_rows("Multi-Krum", "multi_krum", one=(PAPER,)),
        *_rows("FLTrust", "fltrust", one=(PAPER,)),
        *_rows("FLAME", "flame", one=(PAPER,)),
        *_rows("Watch, FedAvg", "factions+fedavg", one=(PAPER,)),
    ),
    tasks=NETWORKS,
    prints="cifar10",
)
