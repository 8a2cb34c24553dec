"""The ways of the paper's released code: poison in every batch, statistics that stay on a worker."""

from functools import partial

import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.lab import TASKS, Attack, Run, Task
from holdfast.lab.attack_names import attack_named
from holdfast.lab.data import Dataset, Pool
from holdfast.lab.models import flat_params, named_buffers, resnet18
from holdfast.lab.simulation import fresh_state, simulate
from holdfast.lab.simulation.attacking import Attackers
from holdfast.lab.simulation.clients import workers
from holdfast.lab.simulation.round import Round
from holdfast.lab.simulation.statistics import statistics_of_worker
from holdfast.lab.simulation.world import build_world
from holdfast.lab.training import sgd
from holdfast.lab.training.schedule import Trained


def images():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 3, 8, 8)).astype(np.float32), np.arange(400) % 10
    rare = rng.normal(5, 1, size=(40, 3, 8, 8)).astype(np.float32)
    return Dataset(x, y, x[:50], y[:50], pools={"southwest": Pool(rare, rare[:8], 0)})


def task(**changes):
    network = partial(resnet18, head=10, width=4, stem="cifar")
    return Task(
        "cifar10-released",
        images,
        network,
        partial(sgd, lr=0.05, momentum=0.9),
        n_clients=8,
        n_per_round=6,
        n_rounds=2,
        batch_size=16,
        n_root=8,
        **changes,
    )


def a_round(run):
    world = build_world(run, "cpu")
    return world, fresh_state(world, "cpu")


def test_poison_replaces_the_last_of_every_batch_and_is_drawn_anew():
    own = task()
    run = Run(own, attack_named("edge-case", own, n_malicious=2))
    assert run.attack.poison_per_batch == 8
    world, state = a_round(run)
    rounds = []
    with workers(world.model) as crew:
        for number in range(2):
            now = Round(world, crew, state.__class__(number, state.params, buffers=state.buffers))
            clients = world.malicious
            attackers = Attackers(now, clients, np.ones(2, bool), Trained(np.empty((0, 1), np.float32)))
            shard = attackers._shard([int(clients[0])], world.backdoor)
            rounds.append(shard)
            honest = now.shard(int(clients[0]), world.honest_examples(int(clients[0]), number + 1))
            assert len(shard.batches) == len(honest.batches)
            for batch in shard.batches:
                used = batch[batch >= 0]
                assert shard.poisoned[used].sum() == 8
                assert (~shard.poisoned[used]).sum() <= 8
                assert (shard.y[used][shard.poisoned[used]] == 9).all()
    first, second = (shard.x[shard.poisoned] for shard in rounds)
    assert not np.array_equal(first, second)


def test_attackers_who_collude_replace_as_many_in_the_steps_of_one():
    own = task()
    run = Run(own, attack_named("edge-case+collude", own, n_malicious=3))
    world, state = a_round(run)
    with workers(world.model) as crew:
        attackers = Attackers(
            Round(world, crew, state),
            world.malicious,
            np.ones(3, bool),
            Trained(np.empty((0, 1), np.float32)),
        )
        first = int(world.malicious[0])
        shard = attackers._shard(world.malicious.tolist(), world.backdoor, world.n_held(first))
    assert abs(len(shard.batches) - -(-world.n_held(first) // 16)) <= 1
    assert all(shard.poisoned[batch[batch >= 0]].sum() == 8 for batch in shard.batches)


def test_a_batch_must_have_room_for_its_poison():
    with pytest.raises(InputError, match="below batch_size=64"):
        Run(TASKS["phishing"], Attack("all", 2, poison_per_batch=64))


def test_the_chained_statistics_are_those_of_training_one_client_after_the_other():
    run = Run(task(statistics="worker"))
    world, state = a_round(run)
    clients = [0, 3, 5]
    with workers(world.model) as crew:
        now = Round(world, crew, state)
        apart = now.train_clients(np.array(clients), world.honest_examples, run.task.train)
        chained = statistics_of_worker(world.model, state.buffers, apart.buffers)
        buffers = state.buffers
        for client in clients:
            shard = now.shard(client, world.honest_examples(client, 1))
            options = {"n_together": 1, "span": world.data.span}
            buffers = crew.train(run.task.train, state.params, [shard], buffers=buffers, **options).buffers[0]
    assert chained.keys() == buffers.keys()
    for name, value in buffers.items():
        np.testing.assert_allclose(chained[name], value, rtol=2e-5, atol=1e-6)


def test_statistics_that_are_not_sent_stay_on_the_worker_and_the_backdoor_is_sought_with_those_of_the_start():
    own = task(statistics="worker")
    run = Run(own, attack_named("edge-case", own, n_malicious=2))
    world, _ = a_round(run)
    records = list(simulate(run))
    sent = list(simulate(run.replace(statistics="sent")))
    for (_, mine), (_, theirs) in zip(records, sent, strict=True):
        assert any(not np.array_equal(mine.buffers[name], theirs.buffers[name]) for name in mine.buffers)
    last, after = records[-1]
    start = named_buffers(world.model)
    with workers(world.model) as crew:
        scores = crew.scores(after.params, start, world.backdoor.challenge)
        accuracy = (
            crew.scores(after.params, after.buffers, world.data.x_test).argmax(1) == world.data.y_test
        ).mean()
    assert last.attack_success == (scores.argmax(axis=1) == 9).mean()
    assert last.accuracy == accuracy
    assert not np.array_equal(after.params, flat_params(world.model))


def test_statistics_have_two_homes():
    with pytest.raises(InputError, match="'sent' or 'worker'"):
        task(statistics="server")
