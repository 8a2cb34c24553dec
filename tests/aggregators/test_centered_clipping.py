import numpy as np
import pytest

from holdfast import InputError, centered_clipping, norm_clipping


def test_one_step_from_zero_is_norm_clipping():
    rows = np.random.default_rng(0).normal(size=(8, 30))
    np.testing.assert_allclose(
        centered_clipping(rows, radius=2.0, n_steps=1).update, norm_clipping(rows, max_norm=2.0).update
    )


def test_it_starts_from_the_last_update():
    rows = np.tile(np.array([10.0, 0.0]), (10, 1))
    assert centered_clipping(rows, radius=1.0, n_steps=1, previous=np.array([8.0, 0.0])).update.tolist() == [
        9,
        0,
    ]


def test_a_far_client_moves_it_by_no_more_than_its_share_of_the_radius():
    rows = np.zeros((10, 3))
    rows[9] = 1e6
    assert np.linalg.norm(centered_clipping(rows, radius=1.0, n_steps=1).update) == pytest.approx(0.1)


def test_settings_are_checked():
    for wrong in ({"radius": 0.0}, {"n_steps": 0}):
        with pytest.raises(InputError):
            centered_clipping(np.ones((3, 2)), **wrong)
