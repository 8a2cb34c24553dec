"""Images from elsewhere as the trigger: no image of the task is touched."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..data import Dataset, digits
from .backdoors import Backdoor, check_labels, drawn

__all__ = ["foreign_images"]

Array = NDArray[Any]

N_GRATINGS = (600, 200)  # for attackers, and for the test


def foreign_images(
    data: Dataset, *, of: Literal["digits", "gratings"] = "digits", target: int = 7, seed: int = 2024
) -> Backdoor:
    """Return the backdoor of a whole set of foreign images, all labelled as one class of the task.

    The out-of-distribution backdoor of Xu et al., 2025, https://arxiv.org/abs/2509.13219, who take MNIST,
    Fashion-MNIST and SVHN. "digits" are those that come with the package, enlarged to the task's size;
    "gratings" are waves of a random length, direction and phase, drawn from the seed, for tasks whose own
    images are digits. Attackers have some of them, the challenge others. "foreign+soda" keeps the attackers'
    models near honest ones.

    >>> from holdfast.lab.data import digits
    >>> foreign_images(digits(), of="gratings", target=0).challenge.shape
    (200, 1, 8, 8)
    """
    check_labels(data, target)
    if data.x_train.ndim != 4:
        raise InputError(
            f"foreign images need images, (n, channels, height, width); examples have shape"
            f" {data.x_train.shape[1:]}"
        )
    if of not in ("digits", "gratings"):
        raise InputError(f'of must be "digits" or "gratings"; got {of!r}')
    sides = data.x_train.shape[2:]
    if of == "digits":
        source = digits()
        raw = [_enlarged(images, sides) for images in (source.x_train, source.x_test)]
    else:
        rng = np.random.default_rng(seed)
        raw = [_gratings(count, sides, rng) for count in N_GRATINGS]
    mean, scale = (part.reshape(-1, 1, 1) for part in (data.raw_mean, data.raw_scale))
    theirs, challenge = (
        np.broadcast_to((images - mean) / scale, (len(images), *data.x_train.shape[1:])).copy()
        for images in raw
    )

    def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
        return drawn(theirs, count, rng)

    return Backdoor(target, poison, challenge)


def _enlarged(images: Array, sides: tuple[int, ...]) -> Array:
    """Return images (n, 1, rows, columns), each pixel as large as fits, with a rim of zeros."""
    times = min(side // own for side, own in zip(sides, images.shape[2:], strict=True))
    if times < 1:
        raise InputError(f"digits of {images.shape[2:]} do not fit images of {sides}: take gratings")
    large = images.repeat(times, axis=2).repeat(times, axis=3)
    rims = [(side - own) for side, own in zip(sides, large.shape[2:], strict=True)]
    return np.pad(large, [(0, 0), (0, 0), *((rim // 2, rim - rim // 2) for rim in rims)])


def _gratings(count: int, sides: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Return images (n, 1, rows, columns) in [0, 1] of waves two to four pixels long."""
    lengths, angles, phases = (
        rng.uniform(low, high, size=(count, 1, 1, 1)) for low, high in ((2, 4), (0, np.pi), (0, 2 * np.pi))
    )
    rows, columns = np.mgrid[: sides[0], : sides[1]]
    along = rows * np.sin(angles) + columns * np.cos(angles)
    return np.asarray((1 + np.sin(2 * np.pi * along / lengths + phases)) / 2, dtype=np.float32)
