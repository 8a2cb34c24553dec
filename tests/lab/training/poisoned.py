"""An attacker's shard, as the tests of several ways to attack have it."""

import numpy as np

from .cases import shards


def poisoned_shard(shape, size=30, **batches):
    """Return an attacker's examples: the last third has a trigger, large first values, and the label 0."""
    (shard,) = shards(shape, [size], **batches)
    poisoned = np.arange(size) >= 2 * size // 3
    x = shard.x.copy()
    x.reshape(size, -1)[poisoned, :2] = 9.0
    return shard._replace(x=x, y=np.where(poisoned, 0, shard.y), poisoned=poisoned)
