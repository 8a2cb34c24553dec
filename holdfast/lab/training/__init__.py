"""Local training. All ways to train take a network, params, and shards with their batches."""

from .anticipate import anticipate
from .augment import crop_and_flip
from .batched import batched_sgd, constrained_sgd, projected_sgd
from .chameleon import chameleon
from .cosine import cosine_constrained
from .flip import flip, flip_compact
from .focused_flip import f3ba
from .lead import lead_fl
from .lean import lean_sgd
from .local import adam, sgd
from .mixed import mixed_sgd
from .near_benign import cerberus, soda
from .push_back import csft, flood
from .schedule import Shard, Trained, schedule
from .wbc import fl_wbc

__all__ = [
    "Shard",
    "Trained",
    "adam",
    "anticipate",
    "batched_sgd",
    "cerberus",
    "chameleon",
    "constrained_sgd",
    "cosine_constrained",
    "crop_and_flip",
    "csft",
    "f3ba",
    "fl_wbc",
    "flip",
    "flip_compact",
    "flood",
    "lead_fl",
    "lean_sgd",
    "mixed_sgd",
    "projected_sgd",
    "schedule",
    "sgd",
    "soda",
]
