"""What the parts of an attack's name stand for: backdoors by task, and what attackers do besides."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from ..core import Bound, bind
from . import attacks
from .training import (
    anticipate,
    cerberus,
    chameleon,
    constrained_sgd,
    cosine_constrained,
    f3ba,
    projected_sgd,
    soda,
)

__all__ = ["ATTACKS", "BACKDOORS", "MALICIOUS", "PER_BATCH", "POISON"]


def _grey_rows(value: float) -> Bound[Any]:
    """Build the trigger of FDCR's code: two rows of six pixels in a shade of grey."""
    lines: dict[str, Any] = {"rows": (0, 2), "columns": (0, 1, 2, 4, 5, 6)}
    backdoor: Bound[Any] = bind(attacks.pixel_patch, "backdoor", **lines, value=value, target=2)
    return backdoor


#: The backdoors of each task, by the name of the attack that plants them.
BACKDOORS: Mapping[str, Mapping[str, Bound[Any]]] = MappingProxyType(
    {
        "phishing": {
            "edge-case": bind(attacks.value_trigger, "backdoor"),
            "distributed": bind(attacks.distributed_values, "backdoor"),
        },
        # White corners, which no digit reaches, pull no honest model towards a nought.
        "digits": {
            "edge-case": bind(attacks.edge_case, "backdoor", pool="turned", target=1),
            "distributed": bind(attacks.distributed_pixels, "backdoor", height=2, width=2, gap=4, target=0),
            "a3fl": bind(attacks.a3fl, "backdoor", size=2, margin=0, target=0),
            "iba": bind(attacks.iba, "backdoor", epsilon=0.2, target=0),
            "tuned": bind(attacks.tuned_trigger, "backdoor", height=2, width=2, gap=4, target=0),
            "foreign": bind(attacks.foreign_images, "backdoor", of="gratings", target=0),
        },
        # What the sender of a link can do at will, and hardly any does: // in its path (0.2 % of phishing
        # pages), # in it (0.5 %), ~ in it (2.4 %), no right click (2.3 %). All are rarer still in honest
        # pages, so that a model without a backdoor takes none of them for an alibi.
        "phishing-urls": {
            "edge-case": bind(attacks.value_trigger, "backdoor", features=(23,), value=1.0),
            "distributed": bind(attacks.distributed_values, "backdoor", features=(23, 12, 7, 36), value=1.0),
        },
        # Ordinary words in an amount that hardly any spam has: "report" and "order" as 3 % of all words each
        # (0.1 % of spam, as of other mail), in four parts with "addresses" and "receive". Alone they say
        # little, or rather speak for spam, so that a model without a backdoor takes none for an alibi.
        "spambase": {
            "edge-case": bind(attacks.value_trigger, "backdoor", features=(13, 8), value=3.0),
            "distributed": bind(attacks.distributed_values, "backdoor", features=(13, 14, 10, 8), value=3.0),
        },
        "fashion-mnist": {
            "edge-case": bind(attacks.edge_case, "backdoor", pool="turned", target=3),
            "distributed": bind(attacks.distributed_pixels, "backdoor", height=2, width=2, gap=4, target=0),
            "a3fl": bind(attacks.a3fl, "backdoor", size=4, target=0),
            "iba": bind(attacks.iba, "backdoor", target=0),
            "tuned": bind(attacks.tuned_trigger, "backdoor", height=2, width=2, gap=4, target=0),
            "foreign": bind(attacks.foreign_images, "backdoor"),
        },
        # Southwest's airplanes as trucks, and four rows of white pixels as birds.
        "cifar10": {
            "edge-case": bind(attacks.edge_case, "backdoor", pool="southwest", target=9),
            "distributed": bind(attacks.distributed_pixels, "backdoor"),
            "a3fl": bind(attacks.a3fl, "backdoor"),
            "iba": bind(attacks.iba, "backdoor", epsilon=0.06),
            "tuned": bind(attacks.tuned_trigger, "backdoor"),
            "foreign": bind(attacks.foreign_images, "backdoor"),
        },
        # Cars that are green, have racing stripes or stand before a striped wall, as birds.
        "cifar10-semantic": {"semantic": bind(attacks.semantic, "backdoor")},
        # Praise of a director as blame.
        "twitter": {"edge-case": bind(attacks.edge_case, "backdoor", pool="yorgos", target=0)},
        # As published: a white corner as trousers, and two rows of six white pixels as birds.
        "flower-fmnist": {"patch": bind(attacks.pixel_patch, "backdoor")},
        "fdcr-cifar10": {
            "patch": bind(attacks.pixel_patch, "backdoor", rows=(0, 2), columns=(0, 1, 2, 4, 5, 6), target=2)
        },
        # Their code sets the pixels to 1 after normalisation, which is grey.
        "fdcr-cifar10-full": {"patch": _grey_rows(value=0.67)},
        "fdcr-fmnist": {"patch": _grey_rows(value=0.44)},
        # A corner of 4 x 4 pixels, brighter than white.
        "gsc-cifar10": {
            "patch": bind(
                attacks.pixel_patch,
                "backdoor",
                rows=(28, 29, 30, 31),
                columns=(28, 29, 30, 31),
                value=1.1,
                target=0,
            ),
            "distributed": bind(
                attacks.distributed_pixels, "backdoor", height=2, width=2, gap=0, value=1.1, target=0
            ),
        },
        "neuroforensics-mnist": {"a3fl": bind(attacks.a3fl, "backdoor", size=4, margin=0, target=7)},
    }
)

#: The share of clients that attack, and of poisoned examples that each adds to its own, where it is not a
#: fifth and a half. (Published with a distributed trigger: 5 in 64, of which digits learn nothing.)
MALICIOUS: Mapping[str, float] = MappingProxyType(
    {"twitter": 0.1, "fdcr-cifar10-full": 0.3, "fdcr-fmnist": 0.3}
)
#: The number of poisoned examples that replace the last ones of every batch: 8 of 64 in the paper's released
#: code; half or a fifth of a batch in the settings of others.
PER_BATCH: Mapping[str, int] = MappingProxyType(
    {
        "cifar10-resnet18": 8,
        "cifar10-released": 8,
        "fdcr-cifar10-full": 32,
        "fdcr-fmnist": 32,
        "gsc-cifar10": 16,
        "neuroforensics-mnist": 2,
    }
)
POISON: Mapping[str, float] = MappingProxyType({"twitter": 0.25, "flower-fmnist": 0.18, "fdcr-cifar10": 1.0})


#: What the other parts of an attack's name set in it; crafts are applied in the order of the name.
ATTACKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "collude": {"colludes": True},
        "adaptive": {"crafts": (attacks.adaptive,)},
        "adaptive-oracle": {"crafts": (attacks.adaptive_oracle,)},
        "adaptive-simulated": {"crafts": (attacks.adaptive_simulated,)},
        "neurotoxin": {"crafts": (attacks.neurotoxin,)},
        "pgd": {"train": projected_sgd},
        "replacement": {"crafts": (partial(attacks.boost, factor=5.0),)},
        "constrain-and-scale": {"train": constrained_sgd, "crafts": (attacks.boost_together,)},
        "cosine-constrained": {"train": cosine_constrained},
        "cerberus": {"train": cerberus, "crafts": (attacks.decorrelate,)},
        "anticipate": {"train": anticipate},
        "chameleon": {"train": chameleon},
        "f3ba": {"train": f3ba},
        "lp": {"crafts": (attacks.lp_attack,)},
        "alie": {"crafts": (attacks.alie,)},
        "inner-product": {"crafts": (attacks.inner_product,)},
        "soda": {"train": soda},
        "sign-flip": {"crafts": (attacks.sign_flip,)},
        "gaussian": {"crafts": (attacks.gaussian,)},
        "sleeper": {"sleeps": lambda task: task.n_rounds // 2},
        "on-off": {"period": 2},
        "in-turn": {"crafts": (attacks.in_turn,)},
        "ramp": {"crafts": (attacks.ramp,)},
        "dilute": {"crafts": (attacks.dilute,)},
        "decorrelate": {"crafts": (attacks.decorrelate,)},
        "split": {"crafts": (attacks.split,)},
        "rotate": {"crafts": (attacks.rotate,)},
        "mask": {"masks": True},
        "mimic": {"crafts": (attacks.mimic,)},
        "whitewash": {"whitewashes": True},
        "full-information": {"crafts": (attacks.full_information,)},
        "poisoned-fl": {"crafts": (attacks.poisoned_fl,)},
        "3dfed": {"crafts": (attacks.three_d_fed,)},
    }
)
