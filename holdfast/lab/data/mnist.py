"""MNIST: handwritten digits.

LeCun, Bottou, Bengio and Haffner, 1998, https://doi.org/10.1109/5.726791.
"""

from collections.abc import Mapping
from types import MappingProxyType

from .dataset import Dataset
from .fashion_mnist import scaled
from .folders import find_file
from .images import Published, check_counts, first_of_each_class, load_images

__all__ = ["MNIST", "mnist"]

#: sha256 of the published images (n, 28, 28) and labels, as bytes in C order.
SUMS: Mapping[str, str] = MappingProxyType(
    {
        "train_images": "741c988805d008ac6e4c904b69001ba184c24b2c540a4ef403f4c71b676cf757",
        "train_labels": "1feba77c54802fa5339a11837ea4b2866434b83314ec45192930f1df69120c13",
        "test_images": "6d87418db22cc8025d05968bec9bd5c3932904b23485740db143a061a2c9d161",
        "test_labels": "ddeff807876a9661a1110d45c266c86239a3a1b7d37da0c3716a7a683c852ff5",
    }
)
MNIST = Published("mnist", (28, 28), SUMS)


def mnist(*, n_train: int = 60_000, n_test: int = 10_000) -> Dataset:
    """Load MNIST images, (n, 1, 28, 28) in [0, 1].

    The rarest digit has 5,421 images to train on and 892 to test on. Fewer than all images are the first ones
    of each class, as many of every class. Get the files with `holdfast data get mnist`.
    """
    check_counts(n_train=n_train, n_test=n_test, n_published=(60_000, 10_000))
    path = find_file(MNIST.files[0], what="MNIST", get="mnist")
    images = load_images(path.parent, published=MNIST)
    train, y_train = first_of_each_class(images["train_images"], images["train_labels"], count=n_train)
    test, y_test = first_of_each_class(images["test_images"], images["test_labels"], count=n_test)
    return Dataset(scaled(train), y_train, scaled(test), y_test)
