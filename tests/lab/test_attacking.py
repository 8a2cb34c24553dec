"""What attackers know in a round, learn and keep, and what the server trains after it."""

import logging
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError, factions, fedavg, median
from holdfast.lab.attacks import Backdoor, Crafted, value_trigger
from holdfast.lab.models import flat_params, load_params
from holdfast.lab.scenario import Attack, Defence, Run
from holdfast.lab.simulation import simulate
from holdfast.lab.simulation.world import build_world
from holdfast.lab.training import Trained
from holdfast.runs.checkpoints import load_checkpoint, save_checkpoint

from ..toy import TOY, TRIGGER, attack, idle

BAD = partial(value_trigger, features=(2,), value=TRIGGER)


def rounds(one, defence=fedavg, **changes):
    run = Run(
        replace(TOY, **changes), one, defence if isinstance(defence, Defence) else Defence("d", defence)
    )
    return list(simulate(run))


def crafted_by(craft, **changes):
    return attack(BAD, crafts=(craft,), **changes)


@pytest.mark.parametrize("n_malicious", [1, 4, 5])
def test_half_of_the_attackers_who_mask_label_the_same_examples_correctly(n_malicious):
    masked = attack(BAD, n_malicious=n_malicious, masks=True)
    before, after = (build_world(Run(TOY, one), "cpu") for one in (replace(masked, masks=False), masked))
    assert list(before.poisoned) == list(after.poisoned)
    for client, (x, y) in before.poisoned.items():
        assert (y == 0).all()  # the target
        assert torch.equal(x, after.poisoned[client][0])
    answers = [int(y.unique()) for _, y in after.poisoned.values()]
    n_masks = n_malicious // 2
    assert answers == [0] * (n_malicious - n_masks) + [1] * n_masks


def test_masks_label_correctly_the_examples_that_are_drawn_in_every_round():
    world = build_world(Run(TOY, attack(BAD, masks=True, poison_per_batch=2)), "cpu")
    push, mask = (list(world.poisoned)[at] for at in (0, -1))
    assert set(world.poison(world.backdoor, push, 2)[1].tolist()) == {0}
    assert set(world.poison(world.backdoor, mask, 2)[1].tolist()) == {1}


def test_a_craft_gets_back_what_it_kept():
    seen = []

    def counting(updates, *, state=None, round):
        seen.append(None if state is None else int(state["n"]))
        return Crafted(updates, {"n": np.array(round)})

    _, last = rounds(crafted_by(counting))[-1]
    assert seen == [None, 1, 2]
    assert int(last.attack["craft0"]["n"]) == 3


def test_what_attackers_keep_survives_a_checkpoint_to_the_bit(tmp_path):
    def growing(updates, *, state=None):
        n = 1 if state is None else int(state["n"]) + 1
        return Crafted(updates * n, {"n": np.array(n)})

    run = Run(TOY, crafted_by(growing))
    whole = list(simulate(run))
    save_checkpoint(tmp_path / "state.npz", run, whole[0][1])
    state = load_checkpoint(tmp_path / "state.npz", run)
    np.testing.assert_array_equal(list(simulate(run, after=state))[-1][1].params, whole[-1][1].params)


def test_a_craft_that_keeps_nothing_gets_nothing_back_resumed_or_not(tmp_path):
    def doubling(updates, *, state=None):
        return Crafted(updates if state is None else 2 * updates, {})

    run = Run(TOY, crafted_by(doubling))
    whole = list(simulate(run))
    save_checkpoint(tmp_path / "state.npz", run, whole[0][1])
    state = load_checkpoint(tmp_path / "state.npz", run)
    np.testing.assert_array_equal(list(simulate(run, after=state))[-1][1].params, whole[-1][1].params)


@pytest.mark.parametrize(
    ("kept", "needed"),
    [
        (7, "careless must keep arrays by name, in a dictionary; got a value of type int"),
        ({"n": None}, "careless must keep arrays; got None as 'n'"),
        ({"n": {"a": 1}}, "careless must keep arrays; got a value of type dict as 'n'"),
    ],
)
def test_what_no_checkpoint_can_hold_is_refused_in_the_round_it_is_kept(kept, needed):
    def careless(updates):
        return Crafted(updates, kept)

    def training(model, params, shards):
        return Trained(idle(model, params, shards), memory=(kept,) * len(shards))

    with pytest.raises(InputError, match=needed):
        rounds(crafted_by(careless))
    with pytest.raises(InputError, match=needed.replace("careless", "training")):
        rounds(attack(BAD), train=training)


def test_what_is_kept_as_plain_numbers_comes_back_as_arrays():
    seen = []

    def counting(updates, *, state=None):
        seen.append(state)
        return Crafted(updates, {"n": 3, "said": "yes"})

    rounds(crafted_by(counting))
    assert [type(kept) for kept in seen[1].values()] == [np.ndarray, np.ndarray]


def test_a_craft_tries_an_update_on_the_attackers_own_and_on_their_poisoned_examples():
    found = []

    def trying(updates, *, trial, params, previous=None):
        found.append((trial(np.zeros_like(params)), trial(updates.mean(axis=0)), previous))
        return updates

    rounds(crafted_by(trying, poison_fraction=1.0), epochs=20)
    (_, success), (_, poisoned), previous = found[0]
    assert previous is None
    assert poisoned > success  # what they trained is what they want
    assert found[1][2] is not None


def test_without_a_backdoor_a_trial_has_no_success():
    found = []

    def trying(updates, *, trial):
        found.append(trial(updates[0]))
        return updates

    rounds(Attack("toy", 4, crafts=(trying,)), n_rounds=1)
    assert found[0][1] == 0.0


def test_a_craft_knows_where_each_tensor_lies():
    found = {}

    def looking(updates, *, layers, params):
        found.update(layers)
        found["dim"] = params.size
        return updates

    rounds(crafted_by(looking), n_rounds=1)
    assert found == {
        "0.weight": slice(0, 24),
        "0.bias": slice(24, 30),
        "2.weight": slice(30, 42),
        "2.bias": slice(42, 44),
        "dim": 44,
    }


@pytest.mark.parametrize("rule", [fedavg, median])
def test_a_craft_that_asks_the_server_sees_what_the_server_will_do(rule):
    thought = []

    def asking(updates, *, server):
        thought.append(server(updates).update)
        server(updates * 100)  # what is only thought of changes nothing
        return updates

    done = rounds(crafted_by(asking), rule)
    for update, (_, state) in zip(thought, done, strict=True):
        np.testing.assert_array_equal(update, state.previous)


def test_what_the_server_says_in_an_attackers_thoughts_is_not_logged(caplog):
    def asking(updates, *, server):
        result = server(np.full_like(updates, np.nan))
        assert len(result.diagnostics.dropped) == len(updates)
        return updates

    with caplog.at_level(logging.DEBUG, "holdfast"):
        rounds(crafted_by(asking), Defence("d", fedavg, watch=factions()))
    assert "NaN" not in caplog.text
    assert not logging.getLogger("holdfast").disabled


def test_attackers_shards_say_which_examples_are_poisoned():
    seen = []

    def looking(model, params, shards):
        seen.extend(shards)
        return idle(model, params, shards)

    for colludes in (False, True):
        rounds(attack(BAD, train=looking, colludes=colludes), n_rounds=1)
    assert seen
    for shard in seen:
        is_stamped = np.asarray(shard.x)[:, 2] > 10
        np.testing.assert_array_equal(shard.poisoned, is_stamped)
        assert shard.poisoned.any()


def test_honest_shards_say_nothing_of_poison_and_training_sees_the_last_update():
    seen, before = [], []

    def looking(model, params, shards, *, previous=None):
        seen.extend(shard.poisoned for shard in shards)
        before.append(previous)
        return np.ones((len(shards), params.size), np.float32)

    rounds(Attack(), train=looking)
    assert set(seen) == {None}
    assert before[0] is None
    assert all((previous == 1).all() for previous in before[1:])


def moving(data, *, target=0):
    """A trigger of one value that its attackers raise by 1 in every round, on what they learn it from."""

    def armed(kept):
        value = float(kept["value"])

        def stamped(x):
            marked = x.copy()
            marked[:, 2] = value
            return marked

        def poison(x, y, count, attacker, rng):
            return stamped(x[:count])

        return Backdoor(target, poison, stamped(data.x_test), learn=learn, armed=armed)

    def learn(model, x, y, kept, rng):
        assert isinstance(model, torch.nn.Module)
        assert len(x) == len(y) > 0
        with torch.no_grad():
            model[0].weight.fill_(torch.nan)  # it is theirs to spoil
        before = 10.0 if kept is None else float(kept["value"])
        return {"value": np.array(before + 1), "drawn": rng.random(2)}

    return armed({"value": np.array(10.0)})


def test_a_trigger_is_learned_anew_each_round_and_used_to_poison_and_to_measure():
    seen = []

    def looking(model, params, shards):
        seen.append({float(shard.x[shard.poisoned][0, 2]) for shard in shards})
        return idle(model, params, shards)

    done = rounds(attack(moving, train=looking))
    assert seen == [{11.0}, {12.0}, {13.0}]
    assert [float(state.attack["trigger"]["value"]) for _, state in done] == [11.0, 12.0, 13.0]
    assert all(np.isfinite(state.params).all() for _, state in done)


def test_success_is_measured_with_the_trigger_as_it_is_by_now():
    run = Run(replace(TOY, n_rounds=2), attack(moving))
    *_, (record, state) = simulate(run)
    data = run.task.data()
    model = run.task.model()
    load_params(model, state.params)
    challenge = moving(data).armed(state.attack["trigger"]).challenge
    assert challenge[0, 2] == 12.0
    answers = model(torch.from_numpy(challenge)).argmax(dim=1)
    assert record.attack_success == pytest.approx(float((answers == 0).float().mean()))


def test_a_learned_trigger_resumes_to_the_same_bits(tmp_path):
    run = Run(TOY, attack(moving))
    whole = list(simulate(run))
    save_checkpoint(tmp_path / "state.npz", run, whole[1][1])
    resumed = list(simulate(run, after=load_checkpoint(tmp_path / "state.npz", run)))
    assert resumed[-1][0].attack_success == whole[-1][0].attack_success
    np.testing.assert_array_equal(resumed[-1][1].params, whole[-1][1].params)
    np.testing.assert_array_equal(
        resumed[-1][1].attack["trigger"]["drawn"], whole[-1][1].attack["trigger"]["drawn"]
    )


def test_in_a_round_without_attackers_nothing_is_learned():
    done = rounds(attack(moving, sleeps=2))
    assert [("trigger" in state.attack) for _, state in done] == [False, False, True]


def test_the_server_trains_after_a_round_on_its_own_examples():
    seen = []

    def shifting(model, params, shards, *, previous):
        seen.append((len(shards), len(shards[0].y), previous.copy(), flat_params(model)))
        return np.full((1, params.size), 0.25, np.float32)

    (_, first), *_ = rounds(Attack(), Defence("d", fedavg, after=shifting), n_rounds=2)
    (_, plain), *_ = rounds(Attack(), n_rounds=1)
    np.testing.assert_array_equal(first.params, plain.params + np.float32(0.25))
    np.testing.assert_array_equal(first.previous, plain.previous)  # what the clients did, without it
    n_shards, n_examples, previous, loaded = seen[0]
    assert (n_shards, n_examples) == (1, TOY.n_root)
    np.testing.assert_array_equal(previous, plain.previous)
    np.testing.assert_array_equal(loaded, plain.params)


def test_a_round_that_moved_nothing_is_not_trained_after():
    def training(model, params, shards):
        raise AssertionError("the server trained")

    hopeless = Attack("toy", 10, crafts=(lambda updates: np.full_like(updates, np.nan),))
    (record, _), *_ = rounds(hopeless, Defence("d", fedavg, after=training), n_rounds=1)
    assert not record.diagnostics.aggregated
