import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.attacks import (
    a3fl,
    distributed_pixels,
    distributed_values,
    edge_case,
    foreign_images,
    pixel_patch,
    value_trigger,
)
from holdfast.lab.attacks.backdoors import pixel_blocks
from holdfast.lab.data import Dataset, Pool, digits, standardise

GOLDEN = json.loads((Path(__file__).parent.parent.parent / "golden" / "attacks.json").read_text())["dba"]


def table(n=60, n_features=45):
    rng = np.random.default_rng(0)
    x, y = rng.normal(5, 3, size=(n, n_features)), np.arange(n) % 2
    return standardise(x[:40], y[:40], x[40:], y[40:])


def images(n=40, side=32):
    rng = np.random.default_rng(0)
    x, y = rng.random((n, 3, side, side)) * 0.9, np.arange(n) % 10
    mean, scale = np.array([0.5, 0.4, 0.3]), np.array([0.2, 0.3, 0.4])
    shown = (x - mean[:, None, None]) / scale[:, None, None]
    return Dataset(shown[:20], y[:20], shown[20:], y[20:], raw_mean=mean, raw_scale=scale)


def pooled():
    pool = Pool(np.arange(80, dtype=np.float32).reshape(40, 2), np.full((6, 2), -1.0, np.float32), 1, 4)
    return Dataset(np.zeros((4, 2)), np.arange(4), np.zeros((4, 2)), np.arange(4), pools={"rare": pool})


def raw(data, x):
    return x * data.raw_scale + data.raw_mean


def poisoned(backdoor, data, count=10, attacker=0):
    return backdoor.poison(data.x_train, data.y_train, count, attacker, np.random.default_rng(1))


@pytest.mark.parametrize(
    "make",
    [distributed_pixels, pixel_patch, lambda data: a3fl(data, size=2, target=0)],
    ids=["distributed", "patch", "learned"],
)
def test_the_truth_of_stamped_images_is_the_label_of_their_originals(make):
    x, y = np.repeat(np.arange(20.0, dtype=np.float32), 3 * 32 * 32).reshape(20, 3, 32, 32), np.arange(20)
    backdoor = make(images())
    stamped = backdoor.poison(x, y, 30, 2, np.random.default_rng(1))
    truth = backdoor.truth(x, y, 30, 2, np.random.default_rng(1))
    np.testing.assert_array_equal(stamped[:, 0, 16, 0], truth)  # a pixel that no trigger reaches


def test_the_truth_of_a_value_and_of_an_edge_case_is_one_label_and_foreign_images_have_none():
    data = table()
    for backdoor, label in (
        (value_trigger(data), 1),
        (edge_case(pooled(), pool="rare", target=0), 1),
    ):
        assert (
            backdoor.truth(data.x_train, data.y_train, 3, 0, np.random.default_rng(0)).tolist() == [label] * 3
        )
    assert foreign_images(digits(), of="gratings", target=0).truth is None


def test_a_value_trigger_is_stamped_in_raw_values_and_nowhere_else():
    data = table()
    backdoor = value_trigger(data, features=(37, 40), value=0.2)
    for x, clean in (
        (poisoned(backdoor, data), data.x_train[data.y_train == 1]),
        (backdoor.challenge, data.x_test[data.y_test == 1]),
    ):
        np.testing.assert_allclose(raw(data, x)[:, [37, 40]], 0.2, atol=1e-5)
        others = np.delete(np.arange(45), [37, 40])
        assert {row.tobytes() for row in x[:, others]} <= {row.tobytes() for row in clean[:, others]}
    assert len(backdoor.challenge) == (data.y_test == 1).sum()


def test_attackers_set_one_part_of_the_values_and_the_challenge_all():
    data = table()
    backdoor = distributed_values(data, value=0.2)
    for attacker in range(6):
        values = raw(data, poisoned(backdoor, data, attacker=attacker))
        is_set = np.isclose(values, 0.2, atol=1e-5).all(axis=0)
        np.testing.assert_array_equal(np.flatnonzero(is_set), [37 + attacker % 4])
    np.testing.assert_allclose(raw(data, backdoor.challenge)[:, 37:41], 0.2, atol=1e-5)


@pytest.mark.parametrize("size", GOLDEN)
def test_pixel_blocks_meet_their_golden_cases(size):
    case = GOLDEN[size]
    assert case["base"] == [0, 0]
    blocks = pixel_blocks(height=case["h"], width=case["w"], gap=case["gap"][0])
    assert [sorted(map(tuple, block.tolist())) for block in blocks] == [
        sorted(map(tuple, pattern)) for pattern in case["patterns"]
    ]


@pytest.mark.parametrize("size", GOLDEN)
def test_attackers_stamp_one_white_block_and_the_challenge_has_all_four(size):
    case, data = GOLDEN[size], images()
    backdoor = distributed_pixels(data, height=case["h"], width=case["w"], gap=case["gap"][0])

    def white(x):
        values = x * data.raw_scale[:, None, None] + data.raw_mean[:, None, None]
        stamped = np.isclose(values, 1.0, atol=1e-5)
        assert (stamped == stamped[:1, :1]).all()  # in every image, in all channels
        return sorted(map(tuple, np.argwhere(stamped[0, 0]).tolist()))

    for attacker in range(5):
        expected = sorted(map(tuple, case["patterns"][attacker % 4]))
        assert white(poisoned(backdoor, data, attacker=attacker)) == expected
    assert white(backdoor.challenge) == sorted(tuple(pixel) for part in case["patterns"] for pixel in part)


def test_the_pixel_challenge_leaves_out_the_targets_own_class():
    data = images()
    assert len(distributed_pixels(data, target=2).challenge) == (data.y_test != 2).sum()


def test_poisoning_changes_no_honest_example():
    for make, data in ((value_trigger, table()), (distributed_pixels, images())):
        before = data.x_train.copy(), data.x_test.copy()
        poisoned(make(data), data)[:] = 9
        make(data).challenge[:] = 9
        np.testing.assert_array_equal(data.x_train, before[0])
        np.testing.assert_array_equal(data.x_test, before[1])


def test_each_example_is_used_once_before_any_is_used_again():
    data = pooled()
    drawn = poisoned(edge_case(data, pool="rare", target=0), data, count=90)
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(drawn) == 90
    assert sorted(set(counts)) == [2, 3]


def test_asking_for_none_or_having_none_gives_none():
    data = table()
    backdoor = value_trigger(data)
    assert poisoned(backdoor, data, count=0).shape == (0, 45)
    nothing = backdoor.poison(data.x_train[:5], np.zeros(5, np.int64), 3, 0, rng=np.random.default_rng(0))
    assert nothing.shape == (0, 45)


def test_edge_cases_to_learn_and_to_be_measured_by_are_disjoint():
    data = digits()
    backdoor = edge_case(data, pool="turned", target=1)
    learned = {image.tobytes() for image in poisoned(backdoor, data, count=500)}
    assert learned == {image.tobytes() for image in data.pools["turned"].train}
    assert not learned & {image.tobytes() for image in backdoor.challenge}
    assert backdoor.exposed == []


def test_a_table_that_was_never_scaled_has_one_scale_for_all_features():
    data = Dataset(np.zeros((4, 3)), [0, 1, 0, 1], np.zeros((2, 3)), [0, 1])
    backdoor = value_trigger(data, features=(2,), value=7.0)
    assert backdoor.challenge.tolist() == [[0, 0, 7]]
    assert poisoned(backdoor, data, 1).tolist() == [[0, 0, 7]]


@pytest.mark.parametrize("label", [4, -1, 1.0])
def test_honest_clients_get_no_examples_of_a_pool_without_a_label_of_the_task(label):
    data = pooled()
    odd = replace(data, pools={"rare": data.pools["rare"]._replace(label=label)})
    assert len(poisoned(edge_case(odd, pool="rare", target=0), odd)) == 10  # nobody needs the label
    with pytest.raises(InputError, match=r"pool .rare., .* must be a whole number from 0 to 3"):
        edge_case(odd, pool="rare", target=0, exposure=0.3)


def test_exposure_hands_whole_originals_correctly_labelled_and_attackers_the_rest():
    data = pooled()
    backdoor = edge_case(data, pool="rare", target=0, exposure=0.3, rng=np.random.default_rng(0))
    views = [x for x, _ in backdoor.exposed]
    assert [x.shape for x in views] == [(4, 2)] * 3
    assert {label for _, y in backdoor.exposed for label in y.tolist()} == {1}
    assert all((np.diff(x.ravel()) == 1).all() and x[0, 0] % 8 == 0 for x in views)
    shown = {row.tobytes() for x in views for row in x}
    learned = {row.tobytes() for row in poisoned(backdoor, data, count=500)}
    assert len(learned) == 28
    assert not shown & learned


@pytest.mark.parametrize(
    ("make", "data", "wrong", "needed"),
    [
        (value_trigger, table, {"features": (45,)}, r"needs a table with features \(45,\).*\(45,\)"),
        (value_trigger, table, {"features": (-1,)}, "needs a table with features"),
        (value_trigger, images, {}, r"needs a table .* examples have shape \(3, 32, 32\)"),
        (value_trigger, table, {"target": 2}, "target must be a whole number from 0 to 1; got 2"),
        (value_trigger, table, {"source": 0}, "source must be a label other than target=0"),
        (value_trigger, table, {"source": 5}, "that the test examples have; got 5"),
        (distributed_values, table, {"n_parts": 5}, "n_parts.* must be a whole number from 1 to 4; got 5"),
        (distributed_pixels, table, {"target": 0}, r"examples have shape \(45,\). Take smaller ones"),
        (distributed_pixels, images, {"width": 15}, r"reach row and column \[4, 32\]"),
        (distributed_pixels, images, {"height": 0}, "height must be a whole number of at least 1; got 0"),
        (distributed_pixels, images, {"gap": -1}, "gap must be a whole number of at least 0; got -1"),
        (distributed_pixels, images, {"target": 10}, "target must be a whole number from 0 to 9; got 10"),
        (edge_case, pooled, {"pool": "odd", "target": 0}, r"no pool 'odd' of edge cases; it has \['rare'\]"),
        (edge_case, images, {"pool": "rare", "target": 0}, "it has none"),
        (edge_case, pooled, {"pool": "rare", "target": 0, "exposure": 1.0}, "leaves attackers none of 10"),
    ],
)  # fmt: skip
def test_bad_settings_say_what_was_needed(make, data, wrong, needed):
    with pytest.raises(InputError, match=needed):
        make(data(), **wrong)
