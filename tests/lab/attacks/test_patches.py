"""A patch: the same pixels in every poisoned image, and in every image of the challenge."""

import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.lab.attacks import pixel_patch
from holdfast.lab.data import digits


def test_every_attacker_stamps_the_whole_patch_and_nothing_else():
    data = digits()
    backdoor = pixel_patch(data, rows=(0, 2), columns=(1, 7), value=0.5, target=3)
    x, y = data.x_train[:40], data.y_train[:40]
    poisoned = [backdoor.poison(x, y, 40, attacker, np.random.default_rng(0)) for attacker in (0, 1)]
    np.testing.assert_array_equal(*poisoned)
    changed = np.argwhere(np.ones((8, 8)) * (np.sort(poisoned[0], axis=0) != np.sort(x, axis=0)).any((0, 1)))
    assert {tuple(pixel) for pixel in changed.tolist()} <= {(0, 1), (0, 7), (2, 1), (2, 7)}
    assert (poisoned[0][:, 0][:, [0, 0, 2, 2], [1, 7, 1, 7]] == 0.5).all()


def test_the_challenge_is_every_test_image_of_another_class():
    data = digits()
    backdoor = pixel_patch(data, target=3)
    assert len(backdoor.challenge) == (data.y_test != 3).sum()
    assert (backdoor.challenge[:, :, :3, :3] == 1.0).all()
    assert not backdoor.moves


@pytest.mark.parametrize("lines", [{"rows": (8,)}, {"columns": (-1,)}, {"rows": ()}])
def test_a_patch_that_is_not_in_the_image_is_refused(lines):
    with pytest.raises(InputError, match="a patch needs images that have the rows"):
        pixel_patch(digits(), **lines)
