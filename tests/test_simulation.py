"""What a round does, seen through functions that watch: training, crafts and rules are plain functions."""

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast import Aggregate, InputError, SparseFedState, TooFewClientsError, aggregators, bind
from holdfast.attacks import crafts, edge_case, value_trigger
from holdfast.lab import attack_named, task_named
from holdfast.scenario import Attack, Defence, Run
from holdfast.simulation import simulate
from holdfast.training import projected_sgd

from .toy import TOY, TRIGGER, attack, idle, mean, table

GOLDEN = json.loads((Path(__file__).parent / "data" / "attacks.json").read_text())
MARKED = attack(value_trigger, features=(2,), value=TRIGGER)
EDGE = attack(edge_case, pool="rare", target=0)


def records(run, **settings):
    return [record for record, _ in simulate(run, **settings)]


def bits(run, **settings):
    """Return a hash of the model after every round."""
    return [hashlib.sha256(state.params.tobytes()).hexdigest() for _, state in simulate(run, **settings)]


def defended(rule, **settings):
    return Defence("own", bind(rule, **settings))


def watched(run, n_rounds=1):
    """Return the shards of honest clients, and of attackers, in the order of training."""
    honest, attackers = [], []

    def train_honest(model, params, shards):
        honest.extend(shards)
        return idle(model, params, shards)

    def train_attackers(model, params, shards):
        attackers.extend(shards)
        return idle(model, params, shards)

    task = replace(run.task, train=bind(train_honest), n_rounds=n_rounds, n_per_round=run.task.n_clients)
    records(replace(run, task=task, attack=replace(run.attack, train=bind(train_attackers))))
    return honest, attackers


def sent(run):
    """Return (clients, rows, weights) of every round, as the server sees them, and the records."""
    seen = []

    def watching(updates, *, clients, weights):
        seen.append((np.array(clients), np.array(updates), np.array(weights)))
        return Aggregate(seen[-1][1].mean(axis=0))

    return seen, records(run.but(defence=defended(watching)))


def test_a_model_learns_and_a_backdoor_is_planted_in_plain_averaging():
    last = records(Run(TOY, MARKED).but(n_rounds=12))[-1]
    assert last.accuracy > 0.8
    assert last.attack_success > 0.9
    clean = records(Run(TOY, replace(MARKED, n_malicious=0)).but(n_rounds=12))[-1]
    assert clean.attack_success < 0.7


def test_same_seed_same_bits_and_another_seed_others():
    run = Run(TOY, MARKED)
    assert bits(run) == bits(run)
    assert bits(run)[0] != bits(run.but(seed=1))[0]


def test_same_seed_same_bits_in_another_process():
    run = Run(TOY, MARKED, seed=4)
    code = (
        "from tests.test_simulation import *\n"
        "print(' '.join(bits(Run(TOY, attack(value_trigger, features=(2,), value=TRIGGER), seed=4))))"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.split() == bits(run)


@pytest.mark.parametrize("rule", ["sparsefed", "weak_dp", "fltrust"])
def test_going_on_from_a_state_gives_the_same_bits(rule):
    craft = bind(crafts.adaptive)
    run = Run(TOY, replace(MARKED, crafts=(craft,)), defended(getattr(aggregators, rule))).but(n_rounds=4)
    states = [state for _, state in simulate(run)]
    assert bits(run, after=states[1]) == bits(run)[2:]
    assert list(simulate(run, after=states[-1])) == []


def test_the_order_of_clients_and_what_attackers_draw_do_not_change_honest_training():
    seen, _ = sent(Run(TOY, MARKED).but(n_rounds=1))
    other, _ = sent(Run(TOY, replace(MARKED, crafts=(bind(crafts.gaussian),))).but(n_rounds=1))
    differ = (seen[0][1] != other[0][1]).any(axis=1)
    assert 0 < differ.sum() < len(differ)
    _, (record,) = sent(Run(TOY, MARKED).but(n_rounds=1))
    assert set(seen[0][0][differ]) == set(record.attackers)


def test_uniform_sampling_is_hypergeometric():
    task = replace(TOY, train=bind(idle), n_clients=100, n_per_round=20, n_rounds=300)
    counts = np.array([record.n_attackers for record in records(Run(task, Attack("idle", 20)))])
    law = GOLDEN["hypergeometric_pmf"]["100/20/20"]
    assert counts.mean() == pytest.approx(4, abs=3 * np.sqrt(2.586 / 300))
    for n_attackers, share in law.items():
        assert (counts == int(n_attackers)).mean() == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize(
    "case", GOLDEN["sampling"]["fixed"], ids=lambda case: f"{case['ratio']} of {case['N']}"
)
def test_fixed_sampling_has_the_golden_counts(case):
    task = replace(TOY, train=bind(idle), n_clients=100, n_per_round=case["N"], n_rounds=4)
    run = Run(task, Attack("idle", round(100 * case["ratio"])), sampling="fixed")
    found = records(run)
    assert [record.n_attackers for record in found] == [case["malicious"]] * 4
    assert all(len(set(record.clients)) == case["N"] for record in found)
    assert len({record.clients for record in found}) == 4


def test_who_is_malicious_is_fixed_for_the_run():
    found = records(Run(TOY, MARKED).but(n_rounds=30, train=bind(idle)))
    assert len({client for record in found for client in record.attackers}) == 4


def test_attackers_attack_in_their_rounds_and_are_honest_in_others():
    run = Run(TOY, replace(MARKED, rounds=range(2, 3)), sampling="fixed")
    assert [record.n_attackers for record in records(run)] == [0, 3, 0]
    assert bits(run)[0] == bits(run.but(attack=replace(MARKED, n_malicious=4, poison_fraction=0.0)))[0]


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
    last = records(Run(TOY, defence=defended(aggregators.fltrust)).but(n_rounds=8))[-1]
    assert last.accuracy > 0.8


def test_a_rule_gets_back_what_it_keeps():
    def counting(updates, *, state=None):
        return Aggregate(np.asarray(updates).mean(axis=0), (state or 0) + 1)

    assert [state.rule for _, state in simulate(Run(TOY, defence=defended(counting)))] == [1, 2, 3]


def test_sparsefed_keeps_its_state():
    states = [state for _, state in simulate(Run(TOY, defence=defended(aggregators.sparsefed, kept=0.1)))]
    assert all(isinstance(state.rule, SparseFedState) for state in states)
    assert [len(state.rule.norms) for state in states] == [6, 12, 18]


def test_the_previous_update_is_what_the_model_moved_by():
    (_, one), (_, two), _ = simulate(Run(TOY))
    np.testing.assert_allclose(two.params - one.params, two.previous, atol=1e-6)


def test_colluders_send_identical_rows_and_their_own_counts():
    colluding = replace(MARKED, colludes=True, crafts=(bind(crafts.boost, factor=2.0),))
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
    near = replace(MARKED, train=bind(projected_sgd, lr=0.5, radius=0.01))
    seen, found = sent(Run(TOY, near, sampling="fixed"))
    for (clients, rows, _), record in zip(seen, found, strict=True):
        lengths = np.linalg.norm(rows, axis=1)
        is_attacker = np.isin(clients, record.attackers)
        assert (lengths[is_attacker] < 0.0101).all()
        assert (lengths[~is_attacker] > 0.02).all()


def test_a_hostile_craft_does_not_stop_the_round():
    def broken(updates):
        return np.full_like(updates, np.nan)

    for record in records(Run(TOY, replace(MARKED, crafts=(bind(broken),)), sampling="fixed")):
        assert {dropped.client for dropped in record.diagnostics.dropped} == set(record.attackers)
        assert record.accuracy > 0


@pytest.mark.parametrize(
    ("craft", "settings"),
    [(crafts.adaptive_oracle, {}), (crafts.adaptive_simulated, {}), (crafts.alie, {"z": 0.5})],
)
def test_crafts_get_what_they_ask_for(craft, settings):
    run = Run(TOY, replace(MARKED, crafts=(bind(craft, **settings),)), sampling="fixed")
    assert bits(run)[0] != bits(run.but(attack=MARKED))[0]


def test_exposed_originals_go_round_the_honest_clients_rightly_labelled():
    honest, attackers = watched(Run(TOY, replace(EDGE, exposure=0.5)))
    rare = [(shard.x[:, 1] > 50, shard.y) for shard in honest]
    assert sorted(int(is_rare.sum()) for is_rare, _ in rare) == [0, 0, 0, 2, 2, 2]  # views stay together
    assert {label for is_rare, y in rare for label in y[is_rare].tolist()} == {1}
    shown = {row.tobytes() for shard in honest for row in shard.x[shard.x[:, 1] > 50]}
    learned = {row.tobytes() for shard in attackers for row in shard.x[shard.x[:, 1] > 50]}
    assert len(shown) == len(learned) == 6
    assert not shown & learned
    assert not any((shard.x[:, 1] > 50).any() for shard in watched(Run(TOY, EDGE))[0])


def test_exposure_without_a_pool_is_refused():
    with pytest.raises(InputError, match=r"exposure=0\.3 needs an edge-case pool; 'toy' has none"):
        records(Run(TOY, replace(MARKED, exposure=0.3)))


def test_too_few_clients_for_a_rule_are_told():
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
