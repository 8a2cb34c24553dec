"""PoisonedFL: the same way in all rounds, and a factor that falls where the model does not follow."""

import numpy as np
import pytest

from holdfast import InputError
from holdfast.core import bind
from holdfast.lab.attacks import poisoned_fl
from holdfast.lab.attacks.consistent import moved_along

DIM = 1000


def rounds(moves, **settings):
    """Yield what the craft makes in each round of a model that moves by `moves(sent)`."""
    craft, params, state, previous = bind(poisoned_fl, "craft", **settings), np.zeros(DIM), None, None
    while True:
        rng = np.random.default_rng(len(state or ()))
        made = craft(np.ones((3, DIM)), params=params, previous=previous, state=state, rng=rng)
        yield made
        previous, state = moves(made.updates[0]), made.state
        params = params + previous


def noise(seed=0):
    drawn = np.random.default_rng(seed)
    return lambda sent: drawn.normal(size=DIM)


def test_the_signs_are_drawn_once_and_all_attackers_send_the_same():
    made = [one for one, _ in zip(rounds(noise()), range(4), strict=False)]
    np.testing.assert_array_equal(made[0].updates, np.ones((3, DIM)))
    signs = made[0].state["signs"]
    assert 400 < (signs == 1).sum() < 600
    for one in made[1:]:
        np.testing.assert_array_equal(np.sign(one.updates), np.repeat(signs[None], 3, axis=0))


def test_a_row_is_as_long_as_the_factor_says():
    previous = np.random.default_rng(1).normal(size=DIM)
    first = next(rounds(noise()))
    known = {"params": np.zeros(DIM), "previous": previous, "rng": np.random.default_rng(0)}
    made = poisoned_fl(np.ones((3, DIM)), factor=8.0, state=first.state, **known)
    assert np.linalg.norm(made.updates[0]) == pytest.approx(8 * np.linalg.norm(previous))


def test_sizes_are_the_distance_of_the_last_update_from_the_own_one_at_its_length():
    own, signs = np.array([6.0, -8.0, 0.0]), np.array([1, -1, 1])  # twice as long as what the server made
    state = {"signs": signs, "own": own, "factor": 2.0, "params": np.zeros(3), "waited": 0}
    known = {"params": np.zeros(3), "previous": np.array([0.0, -4.0, 3.0]), "rng": np.random.default_rng(0)}
    made = poisoned_fl(np.ones((1, 3)), state=state, **known)
    # |(0, -4, 3) - (3, -4, 0)| = (3, 0, 3), and 2 * 5 of its direction along the signs
    np.testing.assert_allclose(made.updates, [[10 / np.sqrt(2), 0, 10 / np.sqrt(2)]])


@pytest.mark.parametrize(
    ("dim", "needed"), [(1204682, 603618), (139960, 70415), (717924, 359948), (145212, 73049)]
)
def test_the_test_is_the_published_one(dim, needed):
    signs = np.ones(dim, np.int8)
    for n_along, verdict in ((needed, True), (needed - 1, False)):
        assert moved_along(np.where(np.arange(dim) < n_along, 1.0, -1.0), signs) is verdict


def test_what_did_not_move_does_not_count():
    moved = np.where(np.arange(DIM) < 100, 1.0, 0.0)
    assert moved_along(moved, np.ones(DIM, np.int8))
    assert not moved_along(moved, np.where(np.arange(DIM) < 50, 1, -1))


def test_the_factor_falls_while_the_model_does_not_follow():
    made = [one for one, _ in zip(rounds(noise(), every=2), range(40), strict=False)]
    factors = [float(one.state["factor"]) for one in made]
    assert factors[:6] == pytest.approx([8, 8, 8, 5.6, 5.6, 5.6 * 0.7])
    assert factors[-1] == 0.5


def test_the_factor_stays_while_the_model_follows():
    drawn = np.random.default_rng(0)
    follows = rounds(lambda sent: 0.2 * sent + 0.1 * drawn.normal(size=DIM), every=2)
    assert [float(one.state["factor"]) for one, _ in zip(follows, range(20), strict=False)][-1] == 8.0


def test_a_model_that_runs_away_does_not_make_the_rows_infinite():
    craft, state = bind(poisoned_fl, "craft"), next(rounds(noise())).state
    far = np.full(DIM, 2e37, np.float32)
    known = {"params": far, "previous": far, "state": state, "rng": np.random.default_rng(0)}
    assert np.isfinite(craft(np.ones((2, DIM), np.float32), **known).updates).all()


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        ({"every": 0}, "every, .* must be a whole number of at least 1; got 0"),
        ({"factor": 0.1}, r"factor must be a finite number of at least 0\.5; got 0\.1"),
    ],
)
def test_bad_settings_say_what_was_needed(wrong, needed):
    with pytest.raises(InputError, match=needed):
        next(rounds(noise(), **wrong))
