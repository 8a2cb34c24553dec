import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.data import Dataset, dialect, digits, inverted, phishing, reordered, turned
from holdfast.lab.data.twitter import PADDING

DIGITS = digits()
TABLE = phishing(n_train=300, n_test=60)
TEXT = np.random.default_rng(0).zipf(1.5, size=(60, 12)).clip(1, 40).astype(np.float32) + 1
TEXT[::2, 7:] = PADDING
TEXTS = Dataset(TEXT[:40], np.arange(40) % 2, TEXT[40:], np.arange(20) % 2, vectors=np.zeros((60, 3)))

CHANGES = {
    "inverted": (DIGITS, lambda x: inverted(x, data=DIGITS)),
    "turned": (DIGITS, turned),
    "reordered": (TABLE, lambda x: reordered(x, data=TABLE)),
    "dialect": (TEXTS, lambda x: dialect(x, data=TEXTS)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_examples_change_one_by_one_and_the_given_ones_stay(name):
    data, change = CHANGES[name]
    before = data.x_test.copy()
    changed = change(data.x_test)
    assert changed.shape == before.shape
    assert changed.dtype == before.dtype
    assert (changed != before).any(axis=tuple(range(1, before.ndim))).all()
    np.testing.assert_array_equal(change(before[[5, 2]]), changed[[5, 2]])
    changed[:] = 7
    np.testing.assert_array_equal(data.x_test, before)


def test_an_image_is_inverted_within_what_an_image_can_be():
    changed = inverted(DIGITS.x_test, data=DIGITS)
    assert (changed.min(), changed.max()) == (0, 1)
    np.testing.assert_allclose(changed + DIGITS.x_test, 1)


def test_colours_are_inverted_around_the_middle_of_each_channel():
    mean, scale = np.array([0.4, 0.5, 0.6]), np.array([0.2, 0.25, 0.3])
    raw = np.random.default_rng(0).random((6, 3, 4, 4))
    x = (raw - mean[:, None, None]) / scale[:, None, None]
    data = Dataset(x, np.zeros(6), x, np.zeros(6), raw_mean=mean, raw_scale=scale)
    changed = inverted(data.x_test, data=data)
    np.testing.assert_allclose(changed * scale[:, None, None] + mean[:, None, None], 1 - raw, atol=1e-6)


def test_images_turn_back_after_four_quarters():
    images = DIGITS.x_test
    np.testing.assert_array_equal(turned(turned(images, quarters=3), quarters=1), images)
    np.testing.assert_array_equal(turned(images, quarters=2), images[:, :, ::-1, ::-1])


def test_the_edge_cases_of_digits_are_what_a_turned_minority_holds():
    pool = DIGITS.pools["turned"].test
    np.testing.assert_array_equal(turned(np.rot90(pool, -1, axes=(2, 3))), pool)


def test_features_change_places_by_the_seed_and_keep_their_values():
    one, other = (reordered(TABLE.x_test, data=TABLE, seed=seed) for seed in (1, 2))
    assert (one != other).any()
    np.testing.assert_array_equal(np.sort(one, axis=1), np.sort(TABLE.x_test, axis=1))


def test_a_dialect_keeps_the_words_that_it_has_room_for_and_the_padding():
    changed = dialect(TEXT, data=TEXTS)
    np.testing.assert_array_equal(changed[:, ::2], TEXT[:, :6])
    assert len(np.unique(changed[:, 1::2])) == 1
    short = np.array([[5, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]])
    assert (dialect(short, data=TEXTS) > 0).sum() == 4


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        (lambda: inverted(TABLE.x_test, data=TABLE), r"inverted needs images.*\(60, 45\)"),
        (lambda: turned(DIGITS.x_test[:, :, 1:]), "turned needs square images"),
        (lambda: turned(DIGITS.x_test, quarters=4), "quarters must be a whole number from 1 to 3; got 4"),
        (lambda: reordered(DIGITS.x_test, data=DIGITS), r"reordered needs a table.*, 1, 8, 8\)"),
        (lambda: reordered(TEXT, data=TEXTS), "reordered needs a table"),
        (lambda: dialect(TABLE.x_test, data=TABLE), "dialect needs texts"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(wrong, needed):
    with pytest.raises(InputError, match=needed):
        wrong()
