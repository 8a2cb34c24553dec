import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.training import Shard, batched_sgd, projected_sgd

from .cases import network, shards, small_mlp


def test_nobody_ends_outside_the_ball():
    model, params = network(small_mlp)
    updates = projected_sgd(model, params, shards((6,), (5, 17, 40)), lr=1.0, momentum=0.9, radius=0.3)
    assert (np.linalg.norm(updates, axis=1) <= 0.3 + 1e-6).all()


def test_a_ball_that_nobody_leaves_changes_nothing():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    near = projected_sgd(model, params, examples, radius=100.0, every=1)
    np.testing.assert_allclose(near, batched_sgd(model, params, examples), atol=1e-6)


def test_projecting_at_the_last_step_only_is_shortening_the_update():
    model, params = network(small_mlp)
    examples = shards((6,), (5, 17))
    free = batched_sgd(model, params, examples, lr=1.0)
    expected = 0.3 * free / np.linalg.norm(free, axis=1, keepdims=True)
    late = projected_sgd(model, params, examples, lr=1.0, radius=0.3, every=1000)
    np.testing.assert_allclose(late, expected, atol=1e-5)


def test_projecting_at_every_second_step_is_going_on_from_the_ball():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [20], epochs=1)
    first, second = (Shard(shard.x, shard.y, shard.batches[part]) for part in (slice(2), slice(2, 4)))
    there = projected_sgd(model, params, [first], lr=1.0, radius=0.3, every=1000)[0]
    on = there + batched_sgd(model, params + there, [second], lr=1.0)[0]
    expected = 0.3 * on / np.linalg.norm(on)
    got = projected_sgd(model, params, [shard], lr=1.0, radius=0.3, every=2)[0]
    np.testing.assert_allclose(got, expected, atol=1e-5)


@pytest.mark.parametrize("wrong", [{"radius": 0.0}, {"radius": np.inf}, {"every": 0}, {"every": 1.5}])
def test_settings_are_checked(wrong):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=next(iter(wrong))):
        projected_sgd(model, params, shards((6,), [5]), **wrong)
