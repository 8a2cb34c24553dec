"""Buffers: the mean under plain averaging, else the median; integers the lower median; strangers left out."""

import numpy as np
import pytest
import torch

from holdfast.aggregators.buffers import accept_buffers, combined_buffers, difference
from holdfast.errors import InputError
from holdfast.updates.forms import BUFFERS, is_named
from holdfast.updates.layout import Unfit

BASE = {
    "bn.running_mean": np.zeros(3, dtype=np.float32),
    "bn.running_var": np.ones(3, dtype=np.float32),
    "bn.num_batches_tracked": np.array(7, dtype=np.int64),
}


def sent_by(n_clients, seed=0):
    rng = np.random.default_rng(seed)
    return [
        {
            "bn.running_mean": rng.normal(size=3).astype(np.float32),
            "bn.running_var": rng.uniform(0.5, 2, size=3).astype(np.float32),
            "bn.num_batches_tracked": np.array(rng.integers(10, 20)),
        }
        for _ in range(n_clients)
    ]


@pytest.mark.parametrize("n_clients", [1, 2, 5, 6])
def test_floats_are_the_median_and_integers_the_lower_one(n_clients):
    sent = sent_by(n_clients)
    found = combined_buffers(sent, base=BASE)
    for name in ("bn.running_mean", "bn.running_var"):
        expected = np.median(np.stack([client[name] for client in sent]).astype(np.float64), axis=0)
        np.testing.assert_allclose(found[name], expected, rtol=1e-6)
        assert found[name].dtype == np.float32
    counts = sorted(int(client["bn.num_batches_tracked"]) for client in sent)
    assert found["bn.num_batches_tracked"] == counts[(n_clients - 1) // 2]
    assert found["bn.num_batches_tracked"].dtype == np.int64
    assert found["bn.num_batches_tracked"].shape == ()


def test_plain_averaging_averages_floats_by_weight_but_never_integers():
    sent, weights = sent_by(4), [1, 2, 3, 10]
    found = combined_buffers(sent, base=BASE, weights=weights, averaged=True)
    expected = np.average([client["bn.running_var"] for client in sent], axis=0, weights=weights)
    np.testing.assert_allclose(found["bn.running_var"], expected, rtol=1e-6)
    counts = sorted(int(client["bn.num_batches_tracked"]) for client in sent)
    assert found["bn.num_batches_tracked"] == counts[1]


HOSTILE = {
    "NaN": {"bn.running_mean": np.array([0, np.nan, 0], np.float32)},
    "infinite": {"bn.running_var": np.array([1, np.inf, 1], np.float32)},
    "a negative variance": {"bn.running_var": np.array([1, -1e30, 1], np.float32)},
    "a negative counter": {"bn.num_batches_tracked": np.array(-5)},
    "too large for float32": {"bn.running_mean": np.array([0, 1e300, 0])},
    "another shape": {"bn.running_mean": np.zeros((3, 1), np.float32)},
    "a shape that broadcasts": {"bn.running_mean": np.zeros(1, np.float32)},
    "floats for integers": {"bn.num_batches_tracked": np.array(7.0)},
    "integers for floats": {"bn.running_mean": np.zeros(3, np.int64)},
    "too large for int64": {"bn.num_batches_tracked": np.array(2**64 - 1, np.uint64)},
    "text": {"bn.running_mean": np.array(["a", "b", "c"])},
    "objects": {"bn.num_batches_tracked": np.array(None, dtype=object)},
    "nothing": {"bn.running_mean": None},
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_impossible_values_are_refused_by_the_name_of_the_buffer(hostile):
    bad = {**sent_by(1, seed=9)[0], **hostile}
    with pytest.raises(Unfit, match=next(iter(hostile))):
        accept_buffers(bad, BASE)


def test_possible_values_are_taken_whatever_their_precision():
    (good,) = sent_by(1)
    good["bn.running_mean"] = good["bn.running_mean"].astype(np.float16)
    good["bn.num_batches_tracked"] = good["bn.num_batches_tracked"].astype(np.int32)
    assert accept_buffers(good, BASE)["bn.num_batches_tracked"] == good["bn.num_batches_tracked"]


@pytest.mark.parametrize("hostile", [np.uint64, np.int8])
def test_one_client_that_sends_another_type_of_integer_rounds_nobody_elses(hostile):
    base = {"key": np.array([2**60 + 1], np.int64)}
    sent = [{"key": base["key"].copy()} for _ in range(4)] + [{"key": np.array([9], hostile)}]
    found = combined_buffers([accept_buffers(given, base) for given in sent], base=base)
    np.testing.assert_array_equal(found["key"], base["key"])
    assert found["key"].dtype == np.int64


def test_differences_count_from_the_base():
    sent = {"bn.running_mean": np.ones(3), "bn.running_var": -0.5 * np.ones(3), "bn.num_batches_tracked": 2}
    sent["bn.num_batches_tracked"] = np.array(2)
    found = accept_buffers(sent, BASE, are_differences=True)
    assert found["bn.running_var"].tolist() == [0.5, 0.5, 0.5]
    assert found["bn.num_batches_tracked"] == 9
    flags = {"on": np.array([True, False])}
    assert accept_buffers(flags, {"on": np.array([True, True])}, are_differences=True)["on"].tolist() == [
        False,
        True,
    ]
    with pytest.raises(Unfit, match="negative"):
        accept_buffers({**sent, "bn.running_var": -2 * np.ones(3)}, BASE, are_differences=True)


def test_with_nobody_left_the_values_of_the_base_stay():
    found = combined_buffers([], base=BASE)
    for name, own in BASE.items():
        np.testing.assert_array_equal(found[name], own)
        assert found[name] is not own


def test_a_difference_has_the_type_of_the_buffer():
    moved = difference(np.array([1.5, 2.0], np.float32), np.array([1.0, 4.0], np.float32))
    assert moved.tolist() == [0.5, -2.0]
    assert moved.dtype == np.float32
    assert difference(torch.tensor(9), torch.tensor(4)) == torch.tensor(5)
    assert difference(np.array([True, False]), np.array([True, True])).tolist() == [False, True]


def test_one_attacker_in_five_moves_no_buffer_out_of_the_range_of_the_others():
    honest = sent_by(4)
    evil = {
        "bn.running_mean": np.full(3, -1e30, np.float32),
        "bn.running_var": np.full(3, 1e30, np.float32),
        "bn.num_batches_tracked": np.array(2**62),
    }
    found = combined_buffers([*honest, evil], base=BASE)
    for name in BASE:
        values = np.stack([client[name] for client in honest])
        assert (values.min(axis=0) <= found[name]).all()
        assert (found[name] <= values.max(axis=0)).all()


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_numbers_do_not_overflow(dtype, averaged):
    most = np.finfo(dtype).max
    sent = [{"x": np.array([most, -most], dtype)} for _ in range(7)]
    found = combined_buffers(sent, base={"x": np.zeros(2, dtype)}, averaged=averaged)
    assert np.isfinite(found["x"]).all()


def test_tensors_come_back_as_tensors_of_the_same_type():
    network = torch.nn.BatchNorm1d(3)
    base = {name: network.state_dict()[name] for name in ("running_mean", "running_var")}
    sent = [{name: values + row for name, values in base.items()} for row in range(3)]
    found = combined_buffers(sent, base=base)
    assert torch.equal(found["running_mean"], torch.ones(3))


def test_booleans_have_a_lower_median_and_empty_buffers_stay():
    base = {"flag": np.array([False, False]), "empty": np.zeros((0, 2), np.float32)}
    sent = [{**base, "flag": np.array(values)} for values in ([True, True], [True, False], [True, False])]
    found = combined_buffers(sent, base=base)
    assert found["flag"].tolist() == [True, False]
    assert found["empty"].shape == (0, 2)


def test_a_base_that_holds_no_numbers_is_an_error():
    with pytest.raises(InputError, match="must hold numbers"):
        combined_buffers([{"x": np.array("a")}], base={"x": np.array("a")})


def test_the_names_of_torch_keras_and_flax_are_known():
    names = [*torch.nn.BatchNorm2d(2).state_dict()]
    assert [is_named(f"layer1.0.{name}", BUFFERS) for name in names] == [False, False, True, True, True]
    assert is_named("batch_normalization/moving_variance", BUFFERS)
    assert is_named("batch_stats.BatchNorm_0.mean", BUFFERS)
