"""Triggers that are learned: what they have in common, and the bounds that each respects."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.lab import TASKS
from holdfast.lab.attacks import a3fl, iba, tuned_trigger
from holdfast.lab.data import Dataset, digits, standardise
from holdfast.lab.models import build_network, flat_params, load_params, small_cnn
from holdfast.lab.scenario import Attack, Run
from holdfast.lab.simulation import simulate
from holdfast.lab.training import Shard, schedule, sgd
from holdfast.runs.checkpoints import load_checkpoint, save_checkpoint

torch.set_num_threads(1)  # which is quicker for networks as small as these

DIGITS = digits(test_share=0.75)
TRIGGERS = {
    "a3fl": partial(a3fl, target=0, size=3, margin=0, n_steps=60, n_batch=32),
    "iba": partial(iba, target=0, epsilon=0.3, n_steps=60, lr=5e-3, n_batch=32),
    "tuned": partial(tuned_trigger, target=0, height=1, width=2, gap=2, radius=2.0, n_steps=30, n_batch=32),
}
every = pytest.mark.parametrize("make", TRIGGERS.values(), ids=TRIGGERS)


@cache
def trained():
    """Return the params of a small network that knows digits, and no trigger."""
    model = build_network(small_cnn, seed=0)
    batches = schedule(len(DIGITS.y_train), epochs=5, batch_size=32, rng=np.random.default_rng(0))
    start = flat_params(model)
    return (
        start
        + sgd(model, start, [Shard(DIGITS.x_train, DIGITS.y_train, batches)], lr=0.05, momentum=0.9).updates[
            0
        ]
    )


def network():
    model = build_network(small_cnn, seed=0)
    load_params(model, trained())
    return model


def learned(backdoor, kept=None, *, seed=3, n=200):
    x, y = torch.from_numpy(DIGITS.x_train[:n]), torch.from_numpy(DIGITS.y_train[:n])
    return backdoor.learn(network(), x, y, kept, np.random.default_rng(seed))


def success(backdoor):
    with torch.no_grad():
        answers = network()(torch.from_numpy(backdoor.challenge)).argmax(dim=1).numpy()
    return (answers == backdoor.target).mean()


def poisoned(backdoor, attacker=0):
    return backdoor.poison(DIGITS.x_train, DIGITS.y_train, 50, attacker, np.random.default_rng(1))


@every
def test_learning_raises_the_success_of_the_trigger(make):
    backdoor = make(DIGITS)
    assert success(backdoor.armed(learned(backdoor))) > success(backdoor) + 0.2


@every
def test_the_same_random_numbers_give_the_same_trigger_and_others_another(make):
    backdoor = make(DIGITS, n_steps=5)
    ((name, first),), again, other = learned(backdoor).items(), learned(backdoor), learned(backdoor, seed=4)
    np.testing.assert_array_equal(first, again[name])
    assert (first != other[name]).any()


@every
def test_learning_resumes_from_what_was_kept(make):
    backdoor = make(DIGITS, n_steps=5)
    kept = {name: array.copy() for name, array in learned(backdoor).items()}
    ((name, further),) = learned(backdoor.armed(kept), kept).items()
    assert (further != learned(backdoor)[name]).any()
    np.testing.assert_array_equal(kept[name], learned(backdoor)[name])  # which learning leaves alone


@every
def test_attackers_without_examples_keep_the_trigger_they_have(make):
    backdoor = make(DIGITS, n_steps=5)
    kept = learned(backdoor)
    assert learned(backdoor, kept, n=0) is kept
    assert learned(backdoor, None, n=0).keys() == kept.keys()


@every
def test_poison_and_challenge_are_valid_images_and_leave_the_originals_alone(make):
    before = DIGITS.x_test.copy()
    backdoor = make(DIGITS)
    backdoor = backdoor.armed(learned(backdoor))
    for x in (poisoned(backdoor), backdoor.challenge):
        assert x.dtype == np.float32
        assert x.min() >= 0
        assert x.max() <= 1
    assert poisoned(backdoor).shape == (50, 1, 8, 8)
    assert len(backdoor.challenge) == (DIGITS.y_test != 0).sum()
    np.testing.assert_array_equal(DIGITS.x_test, before)


@every
def test_a_run_measures_what_was_learned_and_resumes_to_the_same_bits(make, tmp_path):
    small = replace(TASKS["digits"], data=partial(digits, test_share=0.75), epochs=1)
    task = replace(small, n_clients=8, n_per_round=6, n_rounds=2)
    run = Run(task, Attack("learned", 4, partial(make, n_steps=3)), sampling="fixed")
    whole = list(simulate(run))
    save_checkpoint(tmp_path / "state.npz", run, whole[0][1])
    ((record, state),) = simulate(run, after=load_checkpoint(tmp_path / "state.npz", run))
    assert (record.accuracy, record.attack_success) == (whole[1][0].accuracy, whole[1][0].attack_success)
    np.testing.assert_array_equal(state.params, whole[1][1].params)
    first, again, last = (kept.attack["trigger"] for kept in (whole[0][1], state, whole[1][1]))
    for name in first:
        np.testing.assert_array_equal(again[name], last[name])
        assert (first[name] != last[name]).any()


def test_a_learned_square_stays_in_its_square():
    backdoor = TRIGGERS["a3fl"](DIGITS)
    challenge, clean = backdoor.armed(learned(backdoor)).challenge, DIGITS.x_test[DIGITS.y_test != 0]
    outside = np.ones((8, 8), bool)
    outside[:3, :3] = False
    np.testing.assert_array_equal(challenge[..., outside], clean[..., outside])
    assert (challenge[:, :, :3, :3] == challenge[0, :, :3, :3]).all()


def test_a_model_that_unlearns_the_trigger_changes_what_is_learned():
    with_it, without = (learned(TRIGGERS["a3fl"](DIGITS, weight=weight)) for weight in (5.0, 0.0))
    assert (with_it["pattern"] != without["pattern"]).any()


def test_generated_changes_differ_by_image_and_stay_within_epsilon():
    backdoor = TRIGGERS["iba"](DIGITS)
    change = backdoor.armed(learned(backdoor)).challenge - DIGITS.x_test[DIGITS.y_test != 0]
    assert 0.2 < np.abs(change).max() <= 0.3 + 1e-6
    assert (change[0] != change[1]).any()


def test_a_tuned_change_stays_within_its_radius():
    backdoor = TRIGGERS["tuned"](DIGITS)
    assert np.linalg.norm(learned(backdoor)["change"]) == pytest.approx(2.0)


def test_an_attacker_shows_its_block_of_a_tuned_trigger_and_the_challenge_all():
    backdoor = TRIGGERS["tuned"](DIGITS)
    whites = [(poisoned(backdoor, attacker) == 1).all(axis=0)[0] for attacker in range(5)]
    corners = [(0, 0), (0, 4), (3, 0), (3, 4)]
    for attacker, (row, column) in enumerate([*corners, corners[0]]):
        assert whites[attacker][row, column : column + 2].all()
        assert whites[attacker].sum() == 2
    assert (backdoor.challenge[:, 0][:, [0, 0, 3, 3], [0, 4, 0, 4]] == 1).all()


def test_an_image_of_other_spans_is_stamped_within_them():
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 3, 8, 8)), np.arange(40) % 10
    mean, scale = np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.3, 0.4])
    shown = (x - mean[:, None, None]) / scale[:, None, None]
    data = Dataset(shown, y, shown, y, raw_mean=mean, raw_scale=scale)
    model = build_network(partial(small_cnn, n_channels=3), seed=0)
    for make in TRIGGERS.values():
        backdoor = make(data)
        examples = torch.from_numpy(data.x_train), torch.from_numpy(data.y_train)
        kept = backdoor.learn(model, *examples, None, np.random.default_rng(0))
        raw = backdoor.armed(kept).challenge * scale[:, None, None] + mean[:, None, None]
        assert raw.min() > -1e-5
        assert raw.max() < 1 + 1e-5


@pytest.mark.parametrize(
    ("make", "settings", "needed"),
    [
        (a3fl, {"size": 9, "margin": 0}, "margin must be"),
        (a3fl, {"target": 10}, "target must be"),
        (a3fl, {"every": 0}, "every must be"),
        (iba, {"epsilon": 0.0}, r"epsilon, a share of the span, must be in \(0, 1\]; got 0.0"),
        (tuned_trigger, {"width": 2, "radius": 0.0}, "radius and step must be finite numbers above 0"),
        (tuned_trigger, {}, "these blocks reach row and column"),
    ],
)
def test_wrong_settings_are_refused(make, settings, needed):
    with pytest.raises(InputError, match=needed):
        make(DIGITS, **settings)


@every
def test_a_table_has_no_pixels_to_learn(make):
    rng = np.random.default_rng(0)
    table = standardise(rng.random((8, 4)), np.arange(8) % 2, rng.random((8, 4)), np.arange(8) % 2)
    with pytest.raises(InputError, match="a learned trigger needs images"):
        make(table)


def test_images_that_cannot_be_halved_twice_are_refused():
    odd = Dataset(np.zeros((4, 1, 6, 8)), np.arange(4), np.zeros((4, 1, 6, 8)), np.arange(4))
    with pytest.raises(InputError, match="multiples of 4"):
        iba(odd)
