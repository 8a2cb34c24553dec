import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.attacks import foreign_images
from holdfast.lab.data import Dataset, digits, standardise

DIGITS = digits()


def images(sides, *, n_channels=3):
    rng = np.random.default_rng(0)
    mean, scale = np.array([0.5, 0.4, 0.3])[:n_channels], np.array([0.2, 0.3, 0.4])[:n_channels]
    x = rng.normal(size=(20, n_channels, *sides))
    return Dataset(x, np.arange(20) % 10, x, np.arange(20) % 10, raw_mean=mean, raw_scale=scale)


def poisoned(backdoor, data, count=30):
    return backdoor.poison(data.x_train, data.y_train, count, 0, np.random.default_rng(1))


@pytest.mark.parametrize(("sides", "times"), [((32, 32), 4), ((28, 28), 3), ((8, 16), 1)])
def test_digits_are_enlarged_to_the_size_of_the_task_in_every_channel(sides, times):
    data = images(sides)
    backdoor = foreign_images(data)
    raw = backdoor.challenge * data.raw_scale[:, None, None] + data.raw_mean[:, None, None]
    assert raw.shape == (len(DIGITS.x_test), 3, *sides)
    np.testing.assert_allclose(raw[:, 0], raw[:, 2], atol=1e-6)
    top, left = ((side - 8 * times) // 2 for side in sides)
    inner = raw[:, :1, top : top + 8 * times : times, left : left + 8 * times : times]
    np.testing.assert_allclose(inner, DIGITS.x_test, atol=1e-6)
    assert raw.sum() == pytest.approx(3 * times**2 * DIGITS.x_test.sum(), rel=1e-3)


def test_attackers_hold_other_images_than_the_challenge_and_none_of_their_own():
    for data, settings in ((DIGITS, {"of": "gratings"}), (images((8, 8)), {})):
        backdoor = foreign_images(data, **settings)
        bad = {x.tobytes() for x in poisoned(backdoor, data).astype(np.float32)}
        assert len(bad) > 25
        assert not bad & {x.tobytes() for x in backdoor.challenge.astype(np.float32)}
        assert not bad & {x.tobytes() for x in data.x_train}


def test_gratings_are_waves_that_fill_the_image_unlike_any_digit():
    backdoor = foreign_images(DIGITS, of="gratings")
    gratings = backdoor.challenge
    assert gratings.min() >= 0
    assert gratings.max() <= 1
    corners = gratings[:, 0, [0, 0, -1, -1], [0, -1, 0, -1]]
    assert corners.std() > 0.3
    assert DIGITS.x_train[:, 0, [0, 0, -1, -1], [0, -1, 0, -1]].mean() < 0.05
    again, other = (foreign_images(DIGITS, of="gratings", seed=seed).challenge for seed in (2024, 1))
    np.testing.assert_array_equal(gratings, again)
    assert (gratings != other).any()


@pytest.mark.parametrize(
    ("data", "settings", "needed"),
    [
        (DIGITS, {"target": 10}, "target must be"),
        (DIGITS, {"of": "cats"}, "of must be"),
        (images((6, 8)), {}, r"digits of \(8, 8\) do not fit images of \(6, 8\): take gratings"),
        (standardise(np.eye(4), np.arange(4), np.eye(4), np.arange(4)), {"target": 1}, "need images"),
    ],
)
def test_what_cannot_be_had_is_refused(data, settings, needed):
    with pytest.raises(InputError, match=needed):
        foreign_images(data, **settings)
