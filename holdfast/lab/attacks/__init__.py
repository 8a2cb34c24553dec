"""Attacks: backdoors (what is learned) and crafts (what is sent)."""

from .backdoors import Backdoor, distributed_pixels, distributed_values, edge_case, value_trigger
from .crafts import (
    adaptive,
    adaptive_oracle,
    adaptive_simulated,
    alie,
    boost,
    boost_together,
    clones,
    gaussian,
    inner_product,
    neurotoxin,
    project,
    sign_flip,
)

__all__ = [
    "Backdoor",
    "adaptive",
    "adaptive_oracle",
    "adaptive_simulated",
    "alie",
    "boost",
    "boost_together",
    "clones",
    "distributed_pixels",
    "distributed_values",
    "edge_case",
    "gaussian",
    "inner_product",
    "neurotoxin",
    "project",
    "sign_flip",
    "value_trigger",
]
