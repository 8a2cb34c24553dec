"""Attacks: backdoors (what is learned) and crafts (what is sent)."""

from .a3fl import a3fl
from .backdoors import Backdoor, distributed_pixels, distributed_values, edge_case, semantic, value_trigger
from .consistent import poisoned_fl
from .crafts import (
    Crafted,
    adaptive,
    adaptive_oracle,
    adaptive_simulated,
    alie,
    boost,
    boost_together,
    gaussian,
    inner_product,
    neurotoxin,
    sign_flip,
)
from .feedback import Reading, three_d_fed
from .foreign import foreign_images
from .hiding import decorrelate, dilute, in_turn, mimic, ramp, rotate, split
from .iba import iba
from .informed import full_information
from .layers import lp_attack
from .patches import pixel_patch
from .tuned import tuned_trigger

__all__ = [
    "Backdoor",
    "Crafted",
    "Reading",
    "a3fl",
    "adaptive",
    "adaptive_oracle",
    "adaptive_simulated",
    "alie",
    "boost",
    "boost_together",
    "decorrelate",
    "dilute",
    "distributed_pixels",
    "distributed_values",
    "edge_case",
    "foreign_images",
    "full_information",
    "gaussian",
    "iba",
    "in_turn",
    "inner_product",
    "lp_attack",
    "mimic",
    "neurotoxin",
    "pixel_patch",
    "poisoned_fl",
    "ramp",
    "rotate",
    "semantic",
    "sign_flip",
    "split",
    "three_d_fed",
    "tuned_trigger",
    "value_trigger",
]
