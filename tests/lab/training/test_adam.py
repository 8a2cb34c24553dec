import numpy as np
import torch

from holdfast.lab.models import build_network, flat_params
from holdfast.lab.training import Shard, adam

from .cases import network, shards, small_mlp


def test_it_is_torchs_adam_with_a_fresh_state_for_each_client():
    model, params = network(small_mlp)
    examples = shards((6,), (9, 14))
    updates = adam(model, params, examples, lr=0.01).updates
    for update, shard in zip(updates, examples, strict=True):
        own = build_network(small_mlp, seed=0)
        steps = torch.optim.Adam(own.parameters(), lr=0.01)
        for batch in shard.batches:
            x, y = torch.from_numpy(shard.x[batch[batch >= 0]]), torch.from_numpy(shard.y[batch[batch >= 0]])
            steps.zero_grad()
            torch.nn.functional.cross_entropy(own(x), y).backward()
            steps.step()
        np.testing.assert_allclose(update, flat_params(own) - params, atol=1e-7)


def test_one_step_moves_every_weight_with_a_gradient_by_the_rate():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [30], epochs=0.01, batch_size=30)
    moved = np.abs(adam(model, params, [Shard(*shard[:3])], lr=0.5).updates)
    np.testing.assert_allclose(moved[moved > 0], 0.5, rtol=1e-3)
