import numpy as np
import pytest

from holdfast import InputError
from holdfast.lab.data import Dataset, dialect, digits, phishing, shifted, turned

DIGITS = digits()
TABLE = phishing(n_train=300, n_test=60)
TEXT = np.random.default_rng(0).zipf(1.5, size=(60, 12)).clip(1, 40).astype(np.float32) + 1
TEXT[:, 9:] = 0  # padding
TEXTS = Dataset(TEXT[:40], np.arange(40) % 2, TEXT[40:], np.arange(20) % 2, vectors=np.zeros((60, 3)))

CHANGES = {
    "turned": (DIGITS, lambda x, **settings: turned(x, **settings)),
    "shifted": (TABLE, lambda x, **settings: shifted(x, data=TABLE, **settings)),
    "dialect": (TEXTS, lambda x, **settings: dialect(x, data=TEXTS, **{"n_words": 3, **settings})),
}


@pytest.mark.parametrize("name", CHANGES)
def test_examples_change_one_by_one_and_the_given_ones_stay(name):
    data, change = CHANGES[name]
    before = data.x_test.copy()
    changed = change(data.x_test)
    assert changed.shape == before.shape
    assert changed.dtype == before.dtype
    assert (changed != before).any(axis=tuple(range(1, before.ndim))).mean() > 0.9
    np.testing.assert_array_equal(change(before[[5, 2]]), changed[[5, 2]])
    changed[:] = 7
    np.testing.assert_array_equal(data.x_test, before)


def test_images_turn_back_after_four_quarters():
    images = DIGITS.x_test
    np.testing.assert_array_equal(turned(turned(images, quarters=3), quarters=1), images)
    np.testing.assert_array_equal(turned(images, quarters=2), images[:, :, ::-1, ::-1])


def test_the_minority_of_digits_is_the_edge_case_only_if_turned_by_one_quarter():
    pool = DIGITS.pools["turned"].test
    upright = np.rot90(pool, -1, axes=(2, 3))
    np.testing.assert_array_equal(turned(upright, quarters=1), pool)
    assert (turned(upright) != pool).any(axis=(1, 2, 3)).all()


def test_a_table_shifts_in_the_same_features_whatever_the_examples():
    rise = shifted(TABLE.x_test, data=TABLE, share=0.2, by=2.0) - TABLE.x_test
    assert sorted(rise.mean(axis=0).round(3).tolist()) == [0.0] * 36 + [2.0] * 9
    other = shifted(TABLE.x_test, data=TABLE, share=0.2, by=2.0, seed=1) - TABLE.x_test
    assert (rise.any(axis=0) != other.any(axis=0)).any()


def test_a_dialect_exchanges_words_and_leaves_padding_and_unknown_words():
    changed = dialect(TEXT, data=TEXTS, n_words=3)
    np.testing.assert_array_equal(dialect(changed, data=TEXTS, n_words=3), TEXT)
    np.testing.assert_array_equal(changed[TEXT < 2], TEXT[TEXT < 2])
    pairs = {(old, new) for old, new in zip(TEXT.ravel(), changed.ravel(), strict=True) if old != new}
    assert len({old for old, _ in pairs}) == 6
    assert 2 in {old for old, _ in pairs}  # the most common one


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        (lambda: turned(TABLE.x_test), r"turned needs square images.*\(60, 45\)"),
        (lambda: turned(DIGITS.x_test[:, :, 1:]), "turned needs square images"),
        (lambda: turned(DIGITS.x_test, quarters=4), "quarters must be a whole number from 1 to 3; got 4"),
        (lambda: shifted(DIGITS.x_test, data=DIGITS), "shifted needs a table"),
        (lambda: shifted(TEXT, data=TEXTS), "shifted needs a table"),
        (
            lambda: shifted(TABLE.x_test, data=TABLE, share=1.5),
            "share must be above 0 and at most 1; got 1.5",
        ),
        (lambda: dialect(TABLE.x_test, data=TABLE), "dialect needs texts"),
        (lambda: dialect(TEXT, data=TEXTS, n_words=900), "n_words must be a whole number from 1 to"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(wrong, needed):
    with pytest.raises(InputError, match=needed):
        wrong()
