"""What the server trains after a round: how far, at which rate, and at whose expense."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab.models import load_params
from holdfast.lab.scenario import Defence, Run
from holdfast.lab.simulation import simulate
from holdfast.lab.training import csft, flood, sgd
from holdfast.lab.training.push_back import harmless, triangle

from ...toy import TOY, idle
from .cases import network, shards, small_mlp

SPAN = (np.float32(-2.0), np.float32(2.0))
FAR = np.full(83, 100.0, np.float32)  # a round so long that nothing is cut


def loss_of(model, params, x, y):
    load_params(model, params.astype(np.float32), {})
    with torch.no_grad():
        return float(torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(y)))


def test_at_a_constant_rate_super_fine_tuning_is_plain_training():
    model, params = network(small_mlp)
    examples = shards((6,), [10])
    np.testing.assert_array_equal(
        csft(model, params, examples, previous=FAR, lr=0.2, peak=1.0).updates,
        sgd(model, params, examples, lr=0.2).updates,
    )


def test_the_rate_of_each_step_is_on_the_triangle():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [20], epochs=1)
    assert len(shard.batches) == 4
    here = params
    for batch, rate in zip(shard.batches, (0.1, 0.3, 0.5, 0.3), strict=True):
        here = here + sgd(model, here, [shard._replace(batches=batch[None])], lr=rate).updates[0]
    got = csft(model, params, [shard], previous=FAR, lr=0.1, peak=5.0, n_cycles=1).updates[0]
    np.testing.assert_allclose(got, here - params, atol=1e-6)


def test_a_triangle_comes_back_to_its_foot_in_every_cycle():
    np.testing.assert_allclose(triangle(8, 2), [0, 0.5, 1, 0.5, 0, 0.5, 1, 0.5, 0])


@pytest.mark.parametrize("train", [csft, partial(flood, span=SPAN)])
def test_what_is_added_is_cut_to_a_share_of_the_rounds_step(train):
    model, params = network(small_mlp)
    examples = shards((6,), [10])
    whole = train(model, params, examples, previous=FAR, share=1.0).updates[0]
    previous = np.zeros(83, np.float32)
    previous[0] = 0.5 * np.linalg.norm(whole)
    cut = train(model, params, examples, previous=previous, share=0.5).updates[0]
    np.testing.assert_allclose(cut, whole / 4, rtol=1e-4, atol=1e-8)


def test_what_is_guarded_does_not_rise_and_what_agrees_is_left_alone():
    rng = torch.Generator().manual_seed(0)
    for _ in range(20):
        wanted, guarded = (torch.randn(5, generator=rng) for _ in range(2))
        got = harmless(wanted, guarded)
        if wanted @ guarded >= 0:
            assert torch.equal(got, wanted)
        else:
            assert float(got @ guarded) == pytest.approx(0, abs=1e-5)
    assert torch.equal(harmless(wanted, torch.zeros(5)), wanted)


def test_a_flood_changes_answers_to_random_inputs_and_spares_the_task():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [30], epochs=60, batch_size=30)
    params = params + sgd(model, params, [shard], lr=0.5).updates[0]  # it knows its task
    (root,) = shards((6,), [30], epochs=10, batch_size=30)
    flooded = params + flood(model, params, [root], previous=FAR, span=SPAN, lr=0.05).updates[0]
    inputs = torch.rand(200, 6, generator=torch.Generator().manual_seed(5)).numpy() * 4 - 2

    def answers(one):
        load_params(model, one.astype(np.float32), {})
        with torch.no_grad():
            return torch.softmax(model(torch.from_numpy(inputs)), dim=1).numpy()

    task = loss_of(model, params, root.x, root.y), loss_of(model, flooded, root.x, root.y)
    assert task[1] < task[0] + 0.02
    # Labels at random make answers less certain.
    assert answers(flooded).max(axis=1).mean() < answers(params).max(axis=1).mean() - 0.02


def test_labels_and_inputs_of_a_flood_are_new_in_every_round():
    model, params = network(small_mlp)
    (root,) = shards((6,), [10])
    train = partial(flood, model, params, previous=FAR, span=SPAN)
    first, again = train([root]).updates, train([root]).updates
    np.testing.assert_array_equal(first, again)
    assert (train([root._replace(seed=1)]).updates != first).any()


def test_in_a_run_the_server_trains_after_each_round():
    task = replace(TOY, train=idle)  # clients add nothing, and so nor does a share of it
    still = [state.params for _, state in simulate(Run(task, defence=Defence(after=csft)))]
    np.testing.assert_array_equal(still[0], still[-1])
    plain, pushed = (
        next(simulate(Run(TOY, defence=Defence(after=after))))[1]
        for after in (None, partial(csft, share=0.3))
    )
    added = np.linalg.norm(pushed.params - plain.params) / np.linalg.norm(plain.previous)
    assert added == pytest.approx(0.3, rel=1e-3)


@pytest.mark.parametrize(
    ("train", "wrong", "needed"),
    [
        (csft, {"peak": 0.5}, "peak, .* must be at least 1; got 0.5"),
        (csft, {"n_cycles": 0}, "n_cycles must be a whole number of at least 1; got 0"),
        (csft, {"share": 0.0}, r"share, .* must be in \(0, 1\]; got 0.0"),
        (csft, {"lr": 1e30}, "ran away from its model: set a smaller lr or peak"),
        (partial(flood, span=SPAN), {"share": 2.0}, r"share, .* must be in \(0, 1\]; got 2.0"),
    ],
)
def test_what_cannot_work_says_so(train, wrong, needed):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=needed):
        train(model, params, shards((6,), [10]), previous=FAR, **wrong)
