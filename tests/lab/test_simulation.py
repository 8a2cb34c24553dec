"""What a round does, seen through functions that watch: training, crafts and rules are plain functions."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from holdfast import Aggregate, InputError, aggregators
from holdfast.aggregators.sparsefed import SparseFedState
from holdfast.errors import TooFewClientsError
from holdfast.lab import attack_named, task_named
from holdfast.lab.attacks import crafts, distributed_values, edge_case, value_trigger
from holdfast.lab.scenario import Attack, Defence, Run
from holdfast.lab.simulation import simulate
from holdfast.lab.training import Trained, projected_sgd, sgd

from ..toy import TOY, TRIGGER, attack, idle, mean, table

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "attacks.json").read_text())
MARKED = attack(value_trigger, features=(2,), value=TRIGGER)
EDGE = attack(edge_case, pool="rare", target=0)


def records(run, **settings):
    return [record for record, _ in simulate(run, **settings)]


def bits(run, **settings):
    """Return a hash of the model after every round."""
    return [hashlib.sha256(state.params.tobytes()).hexdigest() for _, state in simulate(run, **settings)]


def defended(rule, **settings):
    return Defence("own", partial(rule, **settings))


def seen(shard):
    return shard._replace(x=np.asarray(shard.x), y=np.asarray(shard.y))


def watched(run, n_rounds=1):
    """Return the shards of honest clients, and of attackers, in the order of training."""
    honest, attackers = [], []

    def train_honest(model, params, shards):
        honest.extend(seen(shard) for shard in shards)
        return idle(model, params, shards)

    def train_attackers(model, params, shards):
        attackers.extend(seen(shard) for shard in shards)
        return idle(model, params, shards)

    task = replace(run.task, train=train_honest, n_rounds=n_rounds, n_per_round=run.task.n_clients)
    records(replace(run, task=task, attack=replace(run.attack, train=train_attackers)))
    return honest, attackers


def sent(run):
    """Return (clients, rows, weights) of every round, as the server sees them, and the records."""
    seen = []

    def watching(updates, *, clients, weights):
        seen.append((np.array(clients), np.array(updates), np.array(weights)))
        return Aggregate(seen[-1][1].mean(axis=0))

    return seen, records(run.replace(defence=defended(watching)))


def test_a_model_learns_and_a_backdoor_is_planted_in_plain_averaging():
    last = records(Run(TOY, MARKED).replace(n_rounds=12))[-1]
    assert last.accuracy > 0.8
    assert last.attack_success > 0.9
    clean = records(Run(TOY, replace(MARKED, n_malicious=0)).replace(n_rounds=12))[-1]
    assert clean.attack_success < 0.7


def test_same_seed_same_bits_and_another_seed_others():
    run = Run(TOY, MARKED)
    assert bits(run) == bits(run)
    assert bits(run)[0] != bits(run.replace(seed=1))[0]


@pytest.mark.slow
def test_same_seed_same_bits_in_another_process():
    run = Run(TOY, MARKED, seed=4)
    code = (
        "from tests.lab.test_simulation import *\n"
        "print(' '.join(bits(Run(TOY, attack(value_trigger, features=(2,), value=TRIGGER), seed=4))))"
    )
    root = Path(__file__).parent.parent.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == bits(run)


@pytest.mark.parametrize("rule", ["sparsefed", "weak_dp", "fltrust"])
def test_resuming_from_a_state_gives_the_same_bits(rule):
    craft = crafts.adaptive
    run = Run(TOY, replace(MARKED, crafts=(craft,)), defended(getattr(aggregators, rule))).replace(n_rounds=4)
    states = [state for _, state in simulate(run)]
    assert bits(run, after=states[1]) == bits(run)[2:]
    assert list(simulate(run, after=states[-1])) == []


def test_the_order_of_clients_and_what_attackers_draw_do_not_change_honest_training():
    seen, _ = sent(Run(TOY, MARKED).replace(n_rounds=1))
    other, _ = sent(Run(TOY, replace(MARKED, crafts=(crafts.gaussian,))).replace(n_rounds=1))
    differ = (seen[0][1] != other[0][1]).any(axis=1)
    assert 0 < differ.sum() < len(differ)
    _, (record,) = sent(Run(TOY, MARKED).replace(n_rounds=1))
    assert set(seen[0][0][differ]) == set(record.attackers)


@pytest.mark.slow
def test_uniform_sampling_is_hypergeometric():
    task = replace(TOY, train=idle, n_clients=100, n_per_round=20, n_rounds=300)
    counts = np.array([record.n_attackers for record in records(Run(task, Attack("idle", 20)))])
    law = GOLDEN["hypergeometric_pmf"]["100/20/20"]
    assert counts.mean() == pytest.approx(4, abs=3 * np.sqrt(2.586 / 300))
    for n_attackers, share in law.items():
        assert (counts == int(n_attackers)).mean() == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize(
    "case", GOLDEN["sampling"]["fixed"], ids=lambda case: f"{case['ratio']} of {case['N']}"
)
def test_fixed_sampling_has_the_golden_counts(case):
    task = replace(TOY, train=idle, n_clients=100, n_per_round=case["N"], n_rounds=4)
    run = Run(task, Attack("idle", round(100 * case["ratio"])), sampling="fixed")
    found = records(run)
    assert [record.n_attackers for record in found] == [case["malicious"]] * 4
    assert all(len(set(record.clients)) == case["N"] for record in found)
    assert len({record.clients for record in found}) == 4


def test_who_is_malicious_is_fixed_for_the_run():
    found = records(Run(TOY, MARKED).replace(n_rounds=30, train=idle))
    assert len({client for record in found for client in record.attackers}) == 4


def test_attackers_attack_in_their_rounds_and_are_honest_in_others():
    run = Run(TOY, replace(MARKED, rounds=range(2, 3)), sampling="fixed")
    assert [record.n_attackers for record in records(run)] == [0, 3, 0]
    assert bits(run)[0] == bits(run.replace(attack=replace(MARKED, n_malicious=4, poison_fraction=0.0)))[0]


def test_nobodys_attack_has_no_success_to_measure():
    assert {record.attack_success for record in records(Run(TOY))} == {None}


def test_honest_clients_never_hold_poisoned_examples():
    honest, attackers = watched(Run(TOY, MARKED))
    own = {row.tobytes() for row in table().x_train}
    assert (len(honest), len(attackers)) == (6, 4)
    assert all(row.tobytes() in own for shard in honest for row in shard.x)
    for shard in attackers:
        is_own = np.array([row.tobytes() in own for row in shard.x])
        assert (shard.y[~is_own] == 0).all()
        assert (~is_own).sum() == round(0.5 * is_own.sum())


def test_no_example_is_held_twice_and_the_servers_by_no_client():
    data, seen = table(), []

    def referring(updates, *, reference):
        seen.append(reference)
        return Aggregate(reference)

    honest, _ = watched(Run(TOY, defence=defended(referring)))
    held = [row.tobytes() for shard in honest for row in shard.x]
    assert len(honest) == 11  # ten clients, and the server on its own examples
    assert len(honest[-1].y) == 20
    assert sorted(held) == sorted(row.tobytes() for row in data.x_train)


def test_the_server_trains_only_for_a_rule_that_asks():
    assert len(watched(Run(TOY, defence=defended(mean)))[0]) == 10


def test_fltrust_gets_a_reference():
    last = records(Run(TOY, defence=defended(aggregators.fltrust)).replace(n_rounds=8))[-1]
    assert last.accuracy > 0.8


def test_a_rule_gets_back_what_it_keeps():
    def counting(updates, *, state=None):
        return Aggregate(np.asarray(updates).mean(axis=0), (state or 0) + 1)

    assert [state.memory.rule for _, state in simulate(Run(TOY, defence=defended(counting)))] == [1, 2, 3]


def test_sparsefed_keeps_its_state():
    states = [state for _, state in simulate(Run(TOY, defence=defended(aggregators.sparsefed, kept=0.1)))]
    assert all(isinstance(state.memory.rule, SparseFedState) for state in states)
    assert [len(state.memory.rule.norms) for state in states] == [6, 12, 18]


def test_the_previous_update_is_what_the_model_moved_by():
    (_, one), (_, two), _ = simulate(Run(TOY))
    np.testing.assert_allclose(two.params - one.params, two.previous, atol=1e-6)


def test_colluders_send_identical_rows_and_their_own_counts():
    colluding = replace(MARKED, colludes=True, crafts=(partial(crafts.boost, factor=2.0),))
    seen, found = sent(Run(TOY, colluding, sampling="fixed"))
    for (clients, rows, weights), record in zip(seen, found, strict=True):
        theirs = rows[np.isin(clients, record.attackers)]
        assert len(theirs) == 3
        assert (theirs == theirs[0]).all()
        assert len(np.unique(rows, axis=0)) == len(rows) - 2
        assert set(weights) == {18}  # of (200 - 20) / 10 examples; poisoned ones do not show


def test_a_colluding_leader_trains_on_the_examples_of_all_in_the_steps_of_one():
    _, (pooled,) = watched(Run(TOY, replace(MARKED, colludes=True)))
    _, alone = watched(Run(TOY, MARKED))
    assert len(pooled.y) == sum(len(shard.y) for shard in alone)
    assert len(pooled.batches) == 2  # 18 clean examples in batches of 8, rounded


def test_attackers_train_in_their_own_way():
    near = replace(MARKED, train=partial(projected_sgd, lr=0.5, radius=0.01))
    seen, found = sent(Run(TOY, near, sampling="fixed"))
    for (clients, rows, _), record in zip(seen, found, strict=True):
        lengths = np.linalg.norm(rows, axis=1)
        is_attacker = np.isin(clients, record.attackers)
        assert (lengths[is_attacker] < 0.0101).all()
        assert (lengths[~is_attacker] > 0.02).all()


def test_a_hostile_craft_does_not_stop_the_round():
    def broken(updates):
        return np.full_like(updates, np.nan)

    for record in records(Run(TOY, replace(MARKED, crafts=(broken,)), sampling="fixed")):
        assert {dropped.client for dropped in record.diagnostics.dropped} == set(record.attackers)
        assert record.accuracy > 0


@pytest.mark.parametrize(
    ("craft", "settings"),
    [(crafts.adaptive_oracle, {}), (crafts.adaptive_simulated, {}), (crafts.alie, {"z": 0.5})],
)
def test_crafts_get_what_they_ask_for(craft, settings):
    run = Run(TOY, replace(MARKED, crafts=(partial(craft, **settings),)), sampling="fixed")
    assert bits(run)[0] != bits(run.replace(attack=MARKED))[0]


def test_exposed_originals_go_round_the_honest_clients_correctly_labelled():
    honest, attackers = watched(Run(TOY, replace(EDGE, exposure=0.5)))
    rare = [(shard.x[:, 1] > 50, shard.y) for shard in honest]
    assert sorted(int(is_rare.sum()) for is_rare, _ in rare) == [0, 0, 0, 2, 2, 2]  # views stay together
    assert {label for is_rare, y in rare for label in y[is_rare].tolist()} == {1}
    shown = {row.tobytes() for shard in honest for row in shard.x[shard.x[:, 1] > 50]}
    learned = {row.tobytes() for shard in attackers for row in shard.x[shard.x[:, 1] > 50]}
    assert len(shown) == len(learned) == 6
    assert not shown & learned
    assert not any((shard.x[:, 1] > 50).any() for shard in watched(Run(TOY, EDGE))[0])


def test_without_honest_clients_nobody_holds_what_is_exposed():
    honest, attackers = watched(Run(TOY, replace(EDGE, n_malicious=TOY.n_clients, exposure=0.5)))
    assert (len(honest), len(attackers)) == (0, TOY.n_clients)


def test_exposure_without_a_pool_is_refused():
    with pytest.raises(InputError, match=r"exposure=0\.3 needs an edge-case pool; 'toy' has none"):
        records(Run(TOY, replace(MARKED, exposure=0.3)))


def test_too_few_clients_for_a_rule_are_an_error():
    with pytest.raises(TooFewClientsError, match="krum needs"):
        records(Run(TOY, defence=defended(aggregators.krum, n_malicious=4)))


def test_distributed_attackers_keep_one_part_each():
    task = replace(task_named("digits"), n_clients=8, n_per_round=8)
    _, attackers = watched(Run(task, attack_named("distributed", task, n_malicious=4)))
    corners = {
        tuple(np.flatnonzero([(x[-1, 0, r, c] == 1).all() for r in (0, 7) for c in (0, 7)]))
        for x, *_ in attackers
    }
    assert {len(stamped) for stamped in corners} == {1}
    assert len(corners) == 4


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    run = Run(TOY, MARKED).replace(n_together=2)
    found = []
    for n_threads in ("1", "3"):
        monkeypatch.setenv("HOLDFAST_THREADS", n_threads)
        found.append(bits(run))
    assert found[0] == found[1]


def with_statistics():
    return torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Linear(6, 2)
    )


@pytest.mark.parametrize("rule", ["fedavg", "invariant"])
def test_a_networks_buffers_are_combined_and_resumed_with_the_state(rule):
    run = Run(TOY, MARKED, defended(getattr(aggregators, rule))).replace(
        model=with_statistics, train=partial(sgd, lr=0.3), n_rounds=6
    )
    states = [state for _, state in simulate(run)]
    counts = [int(state.buffers["1.num_batches_tracked"]) for state in states]
    assert counts == sorted(set(counts))
    assert (states[-1].buffers["1.running_var"] > 0).all()
    assert not np.allclose(states[-1].buffers["1.running_mean"], 0)
    assert bits(run, after=states[2]) == bits(run)[3:]


def test_an_attackers_buffers_are_outvoted_unless_the_server_averages():
    def loud(model, params, shards):
        trained = sgd(model, params, shards)
        return trained._replace(
            buffers=tuple({k: v + 1000 for k, v in own.items()} for own in trained.buffers)
        )

    task = replace(TOY, model=with_statistics, train=partial(sgd, lr=0.1), n_rounds=1)
    means = {}
    for rule in ("fedavg", "median"):
        run = Run(
            task,
            replace(MARKED, n_malicious=2, train=loud),
            defended(getattr(aggregators, rule)),
            sampling="fixed",
        )
        ((_, state),) = simulate(run)
        means[rule] = np.abs(state.buffers["1.running_mean"]).max()
    assert means["median"] < 10 < means["fedavg"]


def test_a_client_gets_back_what_its_training_kept():
    seen = []

    def counting(model, params, shards):
        kept = tuple({"n": np.array((0 if s.memory is None else s.memory["n"]) + 1)} for s in shards)
        seen.extend(int(own["n"]) for own in kept)
        return Trained(np.zeros((len(shards), params.size), np.float32), memory=kept)

    states = [state for _, state in simulate(Run(TOY).replace(train=counting, n_rounds=4))]
    assert max(seen) > 1
    assert sum(int(own["n"]) for own in states[-1].kept.values()) == 4 * 6


def test_a_warm_start_begins_with_the_servers_own_examples():
    cold, warm = (records(Run(TOY).replace(warm_epochs=epochs, train=idle))[-1] for epochs in (0, 5))
    assert cold.accuracy == warm.accuracy
    cold, warm = (records(Run(TOY).replace(warm_epochs=epochs, n_rounds=1))[-1] for epochs in (0, 20))
    assert warm.accuracy > cold.accuracy


def test_examples_are_augmented_anew_each_round_and_a_trigger_stays_in_its_place():
    def mirrored(x, *, rng):
        return x * float(rng.choice([-1, 1]))

    run = Run(TOY, attack(distributed_values, features=(2,), value=TRIGGER, n_parts=1)).replace(
        augment=mirrored
    )
    still = replace(run.attack, backdoor=unmoved)
    signs = [np.sign(shard.x[:, 3]).sum() for shard in watched(run, n_rounds=4)[0]]
    assert len(set(np.sign(signs))) > 1
    marked = np.concatenate([shard.x[:, 2] for shard in watched(run.replace(attack=still), n_rounds=4)[1]])
    assert (marked[np.abs(marked) > 10] > 0).all()


def unmoved(data):
    return replace(value_trigger(data, features=(2,), value=TRIGGER), moves=False)


def test_a_network_that_draws_random_numbers_is_refused():
    def drawing():
        return torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Dropout(0.5))

    with pytest.raises(InputError, match="cannot repeat"):
        records(Run(TOY).replace(model=drawing))


def test_training_that_returns_the_wrong_shape_is_named():
    def wrong(model, params, shards):
        return np.zeros((1, 1))

    with pytest.raises(InputError, match="wrong must return an update of"):
        records(Run(TOY).replace(train=wrong))


def test_the_server_takes_as_many_steps_on_its_own_examples_as_a_client():
    taken = []

    def counted(model, params, shards):
        taken.extend(len(shard.batches) for shard in shards)
        return np.ones((len(shards), params.size), np.float32)

    task = replace(TOY, train=counted, n_root=60, n_rounds=1, batch_size=4, epochs=3)
    records(Run(task, defence=defended(aggregators.fltrust)))
    assert len(taken) == TOY.n_per_round + 1
    assert taken[-1] == int(np.median(taken[:-1]))
    assert taken[-1] < 3 * 60 / 4


def test_a_round_without_an_update_leaves_model_buffers_and_last_update_as_they_were():
    def nothing(updates):
        return np.full_like(updates, np.nan)

    everybody = replace(MARKED, n_malicious=TOY.n_clients, crafts=(nothing,), rounds=range(2, 3))
    task = replace(TOY, model=with_statistics, train=partial(sgd, lr=0.1), n_rounds=3)
    (_, first), (record, second), (_, third) = simulate(
        Run(task, everybody, defended(aggregators.centered_clipping))
    )
    assert not record.diagnostics.aggregated
    np.testing.assert_array_equal(second.params, first.params)
    assert second.previous is first.previous
    assert second.memory.previous is first.memory.previous
    for name, values in first.buffers.items():
        np.testing.assert_array_equal(second.buffers[name], values)
    assert (third.params != second.params).any()


def test_attackers_who_rest_send_what_honest_clients_would_whatever_they_craft():
    loud = replace(MARKED, crafts=(crafts.gaussian,), colludes=True)
    never, _ = sent(Run(TOY, replace(loud, rounds=range(0))).replace(n_rounds=3))
    late, found = sent(Run(TOY, replace(loud, sleeps=2)).replace(n_rounds=3))
    assert [len(record.attackers) > 0 for record in found] == [False, False, True]
    for (_, honest, _), (_, resting, _) in zip(never[:2], late[:2], strict=True):
        np.testing.assert_array_equal(resting, honest)
    clients, differ = late[2][0], (late[2][1] != never[2][1]).any(axis=1)
    assert set(clients[differ]) == set(found[2].attackers)


def test_attackers_attack_in_every_so_many_th_round():
    found = records(Run(TOY, replace(MARKED, period=2), sampling="fixed").replace(n_rounds=4))
    assert [record.n_attackers for record in found] == [0, 3, 0, 3]


def test_crafts_know_the_round_and_who_attacks_and_rehearse_once():
    seen, trained = [], []

    def training(model, params, shards):
        trained.append(len(shards))
        return idle(model, params, shards) + 1

    def first(updates, *, round, attackers, rehearsal):
        seen.append((round, tuple(attackers.tolist()), rehearsal.shape == updates.shape))
        return updates

    def second(updates, *, rehearsal):
        return first(updates, round=0, attackers=np.empty(0), rehearsal=rehearsal)

    attacking = replace(MARKED, crafts=(first, second), train=training)
    found = records(Run(TOY, attacking, sampling="fixed").replace(n_rounds=2))
    expected = [
        entry for record in found for entry in [(record.round, record.attackers, True), (0, (), True)]
    ]
    assert seen == expected
    assert trained == [3, 3] * 2  # each round once to attack and once to rehearse


def test_each_craft_of_a_round_draws_numbers_of_its_own():
    drawn = []

    def first(updates, *, rng):
        drawn.append(rng.random())
        return updates

    def second(updates, *, rng):
        drawn.append(rng.random())
        return updates

    records(Run(TOY, replace(MARKED, crafts=(first, second)), sampling="fixed").replace(n_rounds=2))
    assert len(set(drawn)) == 4
