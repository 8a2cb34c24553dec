import numpy as np
import pytest

from holdfast import InputError, defend
from holdfast.aggregators import crfl
from holdfast.errors import NonFiniteError

from .. import naive_filters as naive


def draw(seed=0):
    return np.random.default_rng(seed)


def test_the_next_model_is_shortened_by_hand():
    # The mean update (2, 2) and the model (1, 2) make (3, 4), of length 5. Shortened to 1, it is (0.6, 0.8),
    # which is (-0.4, -1.2) from where the model was.
    params, rows = np.array([1.0, 2.0]), np.array([[1.0, 3.0], [3.0, 1.0]])
    result = crfl(rows, max_norm=1.0, sigma=0.0, params=params, rng=draw())
    np.testing.assert_allclose(result.update, [-0.4, -1.2], rtol=1e-14)
    assert result.diagnostics.notes == ("the model was 5 long, and is shortened to max_norm=1",)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("max_norm", [0.1, 3.0, 1e6])
def test_it_agrees_with_its_twin(dtype, max_norm):
    rows, params = draw(1).normal(size=(7, 30)).astype(dtype), draw(2).normal(size=30).astype(dtype)
    got = crfl(rows, max_norm=max_norm, sigma=0.0, params=params, weights=range(1, 8), rng=draw()).update
    expected = naive.crfl(rows, max_norm, params, range(1, 8)).astype(float)
    np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == np.float32 else 1e-12)


def test_noise_follows_its_generator_and_its_size():
    rows = np.zeros((3, 50_000), dtype=np.float32)
    first, again = (crfl(rows, sigma=0.1, rng=draw(4)).update for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.std() == pytest.approx(0.1, rel=0.02)


@pytest.mark.parametrize("huge", [1e38, -1e38])
def test_no_client_makes_the_model_longer(huge):
    params, rows = draw(2).normal(size=30).astype(np.float32), np.ones((5, 30), dtype=np.float32)
    rows[2] = huge
    result = defend(rows, crfl(max_norm=2.0, sigma=0.0), like=params, rng=draw())
    assert np.linalg.norm(result.model) == pytest.approx(2.0, rel=1e-5)
    wide = np.ones((5, 3))
    wide[2] = 1e200
    assert np.linalg.norm(crfl(wide, max_norm=2.0, sigma=0.0, rng=draw()).update) == pytest.approx(2.0)


def test_zeros_stay_zeros_and_a_bad_row_is_named():
    np.testing.assert_array_equal(crfl(np.zeros((2, 3)), sigma=0.0, rng=draw()).update, np.zeros(3))
    with pytest.raises(NonFiniteError, match="row 1"):
        crfl(np.array([[1.0], [np.nan]]), rng=draw())


def test_what_it_does_not_do_is_told():
    params = np.ones(3)
    said = crfl(np.ones((2, 3)), sigma=0.0, params=params, rng=draw()).diagnostics
    assert "plain averaging" in said.notes[0]
    assert "counts as zero" in crfl(np.ones((2, 3)), rng=draw()).diagnostics.notes[0]
    claimed = crfl(np.ones((2, 3)), params=params, weights=[9, 1], rng=draw()).diagnostics
    assert "90% of all examples" in claimed.notes[0]
    for wrong in ({"max_norm": 0.0}, {"sigma": -1.0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            crfl(np.ones((2, 3)), rng=draw(), **wrong)
