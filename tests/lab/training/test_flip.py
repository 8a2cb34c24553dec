from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy

import numpy as np
import pytest
import torch

from holdfast import InputError
from holdfast.core import bind
from holdfast.lab.models import small_cnn
from holdfast.lab.training import flip, flip_compact
from holdfast.lab.training.flip import _Client

from .cases import network, shards, small_mlp

QUICK = {"n_warm_up": 2, "n_pairs": 3, "n_first_steps": 4, "n_pair_steps": 4, "n_again_steps": 2}
WAYS = {
    "flip": bind(flip, "training", **QUICK),
    "flip_compact": bind(flip_compact, "training", n_inversion_steps=5),
}
ways = pytest.mark.parametrize("train", WAYS.values(), ids=WAYS)
TABLE = (np.array([-3], np.float32), np.array([3], np.float32))
IMAGE = (np.array([[[0.0]]], np.float32), np.array([[[1.0]]], np.float32))


def with_seeds(found):
    return [shard._replace(seed=7 + i) for i, shard in enumerate(found)]


def same(one, two):
    np.testing.assert_array_equal(one.updates, two.updates)
    for mine, other in zip(one.memory, two.memory, strict=True):
        assert mine.keys() == other.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], other[name])


@ways
@pytest.mark.parametrize(("make", "shape", "span"), [(small_mlp, (6,), TABLE), (small_cnn, (1, 8, 8), IMAGE)])
def test_clients_train_on_tables_and_images_and_keep_their_triggers(train, make, shape, span):
    model, params = network(make)
    trained = train(model, params, with_seeds(shards(shape, [20, 30])), span=span)
    assert trained.updates.shape == (2, params.size)
    assert np.isfinite(trained.updates).all()
    assert (np.abs(trained.updates).max(axis=1) > 0).all()
    for memory in trained.memory:
        assert memory["masks"].min() >= 0
        assert memory["masks"].max() <= 1
        assert memory["patterns"].min() >= span[0].min()
        assert memory["patterns"].max() <= span[1].max()


@ways
def test_the_same_seed_gives_the_same_bits_and_torchs_own_generator_is_left_alone(train):
    model, params = network(small_mlp)
    torch.manual_seed(1)
    one = train(model, params, with_seeds(shards((6,), [20])), span=TABLE)
    drawn = torch.rand(3)
    torch.manual_seed(2)
    same(one, train(model, params, with_seeds(shards((6,), [20])), span=TABLE))
    torch.manual_seed(1)
    assert torch.equal(drawn, torch.rand(3))
    other = train(model, params, [shards((6,), [20])[0]._replace(seed=99)], span=TABLE)
    assert (other.memory[0]["masks"] != one.memory[0]["masks"]).any()


@ways
def test_clients_on_several_threads_train_as_one_after_the_other(train):
    model, params = network(small_mlp)
    clients = with_seeds(shards((6,), [20] * 6))

    def alone(shard):
        return train(deepcopy(model), params, [shard], span=TABLE)

    expected = [alone(shard) for shard in clients]
    with ThreadPoolExecutor(4, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        for one, two in zip(expected, pool.map(alone, clients), strict=True):
            same(one, two)


@ways
def test_the_network_and_the_examples_are_left_as_they_were(train):
    model, params = network(small_mlp)
    clients = with_seeds(shards((6,), [20]))
    x = clients[0].x.copy()
    train(model, params, clients, span=TABLE)
    after = torch.cat([p.detach().ravel() for p in model.parameters()]).numpy()
    np.testing.assert_array_equal(after, params)
    np.testing.assert_array_equal(clients[0].x, x)


@ways
def test_a_search_goes_on_where_the_client_left_it(train):
    model, params = network(small_mlp)
    (shard,) = with_seeds(shards((6,), [20]))
    memory = train(model, params, [shard], span=TABLE).memory[0]
    kept = {name: part.copy() for name, part in memory.items()}
    again = train(model, params, [shard._replace(memory=memory)], span=TABLE)
    assert (again.memory[0]["masks"] != memory["masks"]).any()
    for name, part in kept.items():  # what was given is not written to
        np.testing.assert_array_equal(memory[name], part)
    same(again, train(model, params, [shard._replace(memory=kept)], span=TABLE))


@ways
def test_a_network_with_buffers_trains_and_returns_them(train):
    model, params = network(
        lambda: torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 3))
    )
    before = model[1].running_mean.clone()
    trained = train(model, params, with_seeds(shards((6,), [20, 20])), span=TABLE)
    assert len(trained.buffers) == 2
    assert (trained.buffers[0]["1.running_mean"] != before.numpy()).any()
    assert torch.equal(model[1].running_mean, before)


@pytest.mark.parametrize("train", [flip, flip_compact])
@pytest.mark.parametrize(
    ("settings", "needed"),
    [({"stamped": 1.5}, "stamped is a share"), ({"stamped": -1}, "stamped is a share")],
)
def test_settings_that_make_no_sense_are_refused(train, settings, needed):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match=needed):
        train(model, params, shards((6,), [9]), span=TABLE, **settings)


@ways
def test_training_needs_the_span_of_the_examples(train):
    model, params = network(small_mlp)
    with pytest.raises(InputError, match="needs span="):
        train(model, params, shards((6,), [9]))


def test_stamped_training_keeps_the_true_labels_and_makes_a_trigger_harmless():
    """A linear network that takes feature 5 for class 0 is taught by clients whose examples say otherwise."""
    model, params = network(lambda: torch.nn.Linear(6, 3))
    weights = np.zeros((3, 6), np.float32)
    weights[[0, 1, 2], [0, 1, 2]] = 2
    weights[0, 5] = 3  # the backdoor
    params = np.concatenate([weights.ravel(), np.zeros(3, np.float32)])
    rng = np.random.default_rng(0)
    (shard,) = shards((6,), [60], epochs=5, batch_size=10)
    y = rng.integers(0, 3, 60)
    x = 0.1 * rng.normal(size=(60, 6)).astype(np.float32)
    x[np.arange(60), y] += 2
    shard = shard._replace(x=x, y=y)

    def fooled(update):
        rows = (params + update)[:18].reshape(3, 6)
        bad = x.copy()
        bad[:, 5] = 3
        scores = bad @ rows.T + (params + update)[18:]
        return (scores.argmax(axis=1)[y != 0] == 0).mean()

    plain = flip_compact(model, params, [shard], span=TABLE, stamped=0.0, lr=0.5).updates[0]
    hardened = flip_compact(model, params, [shard], span=TABLE, n_inversion_steps=60, lr=0.5).updates[0]
    assert fooled(0) == 1
    assert fooled(plain) > 0.9
    assert fooled(hardened) < 0.1


def test_pairs_never_sought_come_first_then_those_that_changed_most():
    model, _ = network(small_mlp)
    (shard,) = shards((6,), [60])
    client = _Client(model, shard, TABLE)
    seen = set()
    for _ in range(6):
        pair = client.next_pair(0.0)
        client.invert(*pair, n_steps=2, n_shown=20)
        seen.add(pair)
    assert len(seen) == 6
    client.changes[:] = 0.0
    client.changes[1 * 3 + 2] = 0.5
    assert client.next_pair(0.0) == (1, 2)
    assert len({client.next_pair(1.0) for _ in range(60)}) == 6


def test_a_client_with_few_examples_of_each_class_stays_with_whole_classes_and_one_with_none_just_trains():
    model, params = network(small_mlp)
    (shard,) = shards((6,), [9])
    few = shard._replace(y=np.arange(9) % 3)
    assert set(_Client(model, few, TABLE).pairs) == {(0, 0), (1, 1), (2, 2)}
    tiny = shard._replace(x=shard.x[:4], y=shard.y[:4], batches=np.array([[0, 1], [2, 3]]))
    assert _Client(model, tiny, TABLE).pairs == []
    for train in WAYS.values():
        assert np.abs(train(model, params, [tiny], span=TABLE).updates).max() > 0
