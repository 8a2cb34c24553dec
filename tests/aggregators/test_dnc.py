import numpy as np
import pytest

from holdfast import InputError
from holdfast.aggregators import dnc
from holdfast.errors import NonFiniteError, TooFewClientsError

from .. import naive_filters as naive


def draw(seed=0):
    return np.random.default_rng(seed)


def crowd(n_honest=12, n_attackers=3, dim=40, shift=4.0, seed=0):
    rows = draw(seed).normal(size=(n_honest + n_attackers, dim))
    rows[n_honest:] += shift
    return rows


def test_the_furthest_along_the_main_direction_is_dropped_by_hand():
    # The mean is (2, 1). Centred: (-1, -1), (0, -1), (-1, -1), (0, -1), (2, 4), whose squares and products
    # sum to ((6, 10), (10, 20)). Its main direction is (1, (7 + sqrt(149)) / 10) = (1, 1.92), on which the
    # projections are 2.92, 1.92, 2.92, 1.92 and 9.68 long, in that order.
    rows = np.array([[1.0, 0], [2, 0], [1, 0], [2, 0], [4, 5]])
    one, two, three = (dnc(rows, n_malicious=f, rng=draw()) for f in (1, 2, 3))
    np.testing.assert_array_equal(one.update, [1.5, 0])
    assert two.diagnostics.selected.tolist() == [True, True, False, True, False]
    np.testing.assert_array_equal(three.update, [2, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_repeat_drops_as_its_twin_does(dtype):
    rows = crowd(dim=60, shift=1.0).astype(dtype)
    got = dnc(rows, n_malicious=3, n_repeats=4, n_coordinates=20, filtering=1.5, rng=draw(5))
    rng = draw(5)
    samples = [np.sort(rng.choice(60, size=20, replace=False)) for _ in range(4)]
    np.testing.assert_allclose(got.update, naive.dnc(rows, 3, samples, 1.5), rtol=1e-5)
    assert got.diagnostics.selected.sum() < 10  # not all repeats drop the same


def test_a_minority_that_stands_apart_is_dropped_and_the_crowd_is_kept():
    said = dnc(crowd(), n_malicious=3, rng=draw()).diagnostics
    assert said.selected.tolist() == [True] * 12 + [False] * 3
    assert said.notes == ("keeps 12 of 15 clients",)


def test_an_attacker_who_goes_far_shields_another():
    rows = crowd(n_attackers=2, shift=0.0)
    rows[-2, 0], rows[-1, :2] = 1e6, (1e6 / 14, 1e3)
    assert dnc(rows, n_malicious=2, rng=draw()).diagnostics.selected[-2:].tolist() == [False, True]
    rows[-2] = rows[0]
    assert not dnc(rows, n_malicious=1, rng=draw()).diagnostics.selected[-1]


def test_nobody_left_is_a_zero_update_and_a_note():
    result = dnc(crowd(dim=4000, n_attackers=0), n_malicious=5, n_repeats=40, n_coordinates=20, rng=draw())
    assert not result.update.any()
    assert result.diagnostics.notes == ("keeps 0 of 12 clients: the update is zero",)


@pytest.mark.parametrize("huge", [0.0, 1e38, -1e38])
def test_hostile_rows_are_dropped_or_harmless(huge):
    rows = crowd(n_attackers=0).astype(np.float32)
    rows[[2, 7]] = huge
    assert np.abs(dnc(rows, n_malicious=2, rng=draw()).update).max() < 3


def test_clones_and_equal_rows_survive():
    clones = np.vstack([crowd(n_attackers=0), np.tile(np.full(40, 5.0), (3, 1))])
    assert not dnc(clones, n_malicious=3, rng=draw()).diagnostics.selected[12:].any()
    np.testing.assert_array_equal(dnc(np.ones((5, 3)), n_malicious=2, rng=draw()).update, np.ones(3))


def test_rounds_that_it_cannot_cover_are_told():
    assert "plain averaging" in dnc(crowd(), n_malicious=0, rng=draw()).diagnostics.notes[1]
    assert "honest majority" in dnc(crowd(), n_malicious=8, rng=draw()).diagnostics.notes[1]
    with pytest.raises(TooFewClientsError, match=r"dnc drops c \* f = 3 .* got n=3, f=2"):
        dnc(np.ones((3, 2)), n_malicious=2, filtering=1.5, rng=draw())


def test_a_row_that_overflows_is_named_and_settings_are_checked():
    rows = crowd()
    rows[4] = 1e200
    with pytest.raises(NonFiniteError, match="row 4"):
        dnc(rows, n_malicious=1, rng=draw())
    for wrong in ({"n_repeats": 0}, {"n_coordinates": 0}, {"filtering": 0.0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            dnc(rows, n_malicious=1, rng=draw(), **wrong)
