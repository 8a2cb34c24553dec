import numpy as np
import torch

from holdfast.lab.training import crop_and_flip


def images():
    return torch.arange(2 * 3 * 6 * 5, dtype=torch.float32).reshape(2, 3, 6, 5)


def test_every_image_is_a_window_of_the_reflected_one_perhaps_mirrored():
    x = images()
    found = crop_and_flip(x, rng=np.random.default_rng(0), margin=2)
    for original, got in zip(x.numpy(), found.numpy(), strict=True):
        padded = np.pad(original, ((0, 0), (2, 2), (2, 2)), mode="reflect")
        windows = [padded[:, r : r + 6, c : c + 5] for r in range(5) for c in range(5)]
        assert any(np.array_equal(got, way) for window in windows for way in (window, window[:, :, ::-1]))


def test_without_a_margin_images_are_only_mirrored_about_half_of_them():
    x = images()[:1].repeat(400, 1, 1, 1)
    found = crop_and_flip(x, rng=np.random.default_rng(0), margin=0)
    mirrored = (found == x.flip(3)).flatten(1).all(1)
    assert ((found == x).flatten(1).all(1) | mirrored).all()
    assert 0.4 < mirrored.float().mean() < 0.6


def test_the_generator_alone_decides():
    one, again, other = (crop_and_flip(images(), rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, again)
    assert not torch.equal(one, other)
