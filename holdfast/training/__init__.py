"""Local training, one file a method. All take the same: a network, params, shards, and a schedule of batches."""

from .batched import batched_sgd
from .schedule import Shard, schedule
from .sgd import sgd

__all__ = ["Shard", "batched_sgd", "schedule", "sgd"]
