"""Local training, one file per method. All take a network, params, and shards with their batches."""

from .adam import adam
from .augment import crop_and_flip
from .batched import batched_sgd
from .constrained import constrained_sgd
from .flip import flip
from .flip_compact import flip_compact
from .projected import projected_sgd
from .schedule import Shard, Trained, n_steps_of, schedule
from .sgd import sgd
from .triggers import stamp

__all__ = [
    "Shard",
    "Trained",
    "adam",
    "batched_sgd",
    "constrained_sgd",
    "crop_and_flip",
    "flip",
    "flip_compact",
    "n_steps_of",
    "projected_sgd",
    "schedule",
    "sgd",
    "stamp",
]
