"""LeadFL: the step that its equations add to each step but the first."""

import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.training import adam, lead_fl, sgd

from .cases import network, shards, small_mlp

SIZES = (48, 8, 24, 3)  # of the tensors of the small network


def steered(params, before, way, *, lr, weight, cap):
    """Return what eq. 3 of the paper makes of params after a step from `before`; the last went `way`."""
    kept, out = 1 - (params - before - way), []
    for part, own in zip(
        np.split(params, np.cumsum(SIZES)[:-1]), np.split(kept, np.cumsum(SIZES)[:-1]), strict=True
    ):
        out.append(part - lr * weight * np.clip(-own / np.linalg.norm(own), -cap, cap))
    return np.concatenate(out)


def test_without_weight_it_is_plain_training():
    model, params = network(small_mlp)
    examples = shards((6,), [9, 14])
    known = {"lr": 0.2, "momentum": 0.9}
    np.testing.assert_array_equal(
        lead_fl(model, params, examples, weight=0.0, **known).updates,
        sgd(model, params, examples, **known).updates,
    )
    np.testing.assert_array_equal(
        lead_fl(model, params, examples, weight=0.0, lr=0.01, optimiser="adam").updates,
        adam(model, params, examples, lr=0.01).updates,
    )


@pytest.mark.parametrize("cap", [0.2, np.inf])
def test_three_steps_are_those_of_the_equations(cap):
    model, params = network(small_mlp)
    (shard,) = shards((6,), [15], epochs=1)
    assert len(shard.batches) == 3
    settings = {"lr": 0.5, "weight": 0.3, "cap": cap}
    place, way, here = params, None, params
    for batch in shard.batches:
        here = here + sgd(model, here, [shard._replace(batches=batch[None])], lr=0.5).updates[0]
        if way is not None:
            here = steered(here, place, way, **settings).astype(np.float32)
        place, way = here, here - place
    got = lead_fl(model, params, [shard], **settings).updates[0]
    np.testing.assert_allclose(got, here - params, atol=1e-6)


def test_what_a_step_keeps_of_an_attack_falls():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [10], epochs=1)
    first = sgd(model, params, [shard._replace(batches=shard.batches[:1])], lr=0.1).updates[0]

    def kept(update):
        return np.linalg.norm(1 - (update - first - first))  # the second step differs from the first by this

    led = lead_fl(model, params, [shard], lr=0.1).updates[0]
    assert kept(led) < kept(sgd(model, params, [shard], lr=0.1).updates[0])


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        ({"weight": np.nan}, "weight must be a finite number of at least 0; got nan"),
        ({"cap": 0.0}, "cap, the largest coordinate of the gradient, must be above 0; got 0.0"),
    ],
)
def test_bad_settings_say_what_was_needed(wrong, needed):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=needed):
        lead_fl(model, params, shards((6,), [5]), **wrong)
