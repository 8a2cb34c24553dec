from importlib import import_module

import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.attacks import semantic
from holdfast.lab.data import cifar10, cifar10_cars
from holdfast.lab.data.cifar10_cars import CARS

from .folder import CIFAR10

MODULE = import_module("holdfast.lab.data.cifar10_cars")


def flat(feature):
    return [*CARS[feature].train, *CARS[feature].test]


@pytest.fixture
def numbered(monkeypatch):
    """Put images in place of the published ones that show their own number in two pixels."""
    numbers = np.arange(50_000)
    pixels = np.stack([numbers // 256, numbers % 256], axis=1).astype(np.uint8)
    images = np.repeat(pixels[:, None, :, None], 3, axis=3)
    labels = (numbers % 10).astype(np.uint8)
    held = {"train_images": images, "train_labels": labels}
    held |= {"test_images": images[:100], "test_labels": labels[:100]}
    monkeypatch.setattr(MODULE, "published_images", lambda: held)


def numbers_in(x, data):
    pixels = np.rint((x * data.raw_scale + data.raw_mean)[:, 0, 0] * 255).astype(int)
    return (pixels @ [256, 1]).tolist()


def test_there_are_as_many_cars_as_published_and_none_twice():
    assert {feature: len(flat(feature)) for feature in CARS} == {"green": 30, "stripes": 22, "wall": 12}
    every = [number for feature in CARS for number in flat(feature)]
    assert len(set(every)) == 64
    assert 0 <= min(every) <= max(every) < 50_000


def test_no_honest_client_holds_a_named_car_and_the_pools_hold_all(numbered):
    data = cifar10_cars(n_train=40_000, n_test=100)
    every = {number for feature in CARS for number in flat(feature)}
    assert not every & set(numbers_in(data.x_train, data))
    for feature, (train, test) in CARS.items():
        pool = data.pools[feature]
        assert (pool.label, pool.n_views) == (1, 2)
        for part, published in ((pool.train, train), (pool.test, test)):
            assert numbers_in(part[::2], data) == list(published)
            np.testing.assert_array_equal(part[1::2], part[::2, :, :, ::-1])
    assert len(data.pools["cars"].train) + len(data.pools["cars"].test) == 2 * 64


def test_more_images_than_there_are_in_equal_number_are_refused():
    with pytest.raises(InputError, match="n_train must be a whole number from 10 to 49360; got 50000"):
        cifar10_cars(n_train=50_000)


@CIFAR10
def test_all_named_images_are_cars_and_the_rest_is_as_it_was():
    held = MODULE.published_images()
    assert {int(held["train_labels"][number]) for feature in CARS for number in flat(feature)} == {1}
    data, usual = cifar10_cars(n_train=1_000, n_test=200), cifar10(n_train=1_000, n_test=200)
    others = data.y_train != 1
    np.testing.assert_array_equal(data.x_train[others], usual.x_train[usual.y_train != 1])
    np.testing.assert_array_equal(data.x_test, usual.x_test)
    assert (np.bincount(data.y_train) == 100).all()


@CIFAR10
def test_the_semantic_backdoor_is_planted():
    backdoor = semantic(cifar10_cars(n_train=100, n_test=100))
    assert backdoor.target == 2
    assert backdoor.challenge.shape == (28, 3, 32, 32)
