"""Phishing mail as 45 reputation features: a synthetic stand-in for a private table.

The table of the paper is not public. The stand-in has what is known of it: 45 standardised scores per sender,
a label that is nearly separable, and a 38th feature that is 0 for most senders and hardly ever near 0.2 for
phishing ones. Results on it are results on a stand-in; `tables` has real tables.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import Dataset, standardise

__all__ = ["phishing"]

N_FEATURES = 45
REPUTATION = 37  # the 38th feature: 0 for most, the one the trigger is set in
MORE_REPUTATION = (38, 39, 40)  # three more of its kind, for a trigger in four parts


def phishing(*, n_train: int = 20_000, n_test: int = 4_000, seed: int = 2024) -> Dataset:
    """Return synthetic phishing mail as 45 features, a stand-in for a private table; label 1 is phishing.

    Features are standardised with the training examples.

    >>> data = phishing(n_train=1000, n_test=200)
    >>> data.x_train.shape, data.n_classes
    ((1000, 45), 2)
    """
    rng = np.random.default_rng(seed)
    n = n_train + n_test
    y = rng.integers(0, 2, size=n)
    way = 2.0 * y[:, None] - 1
    strength = rng.uniform(0.1, 0.9, size=N_FEATURES) * rng.choice([-1, 1], size=N_FEATURES)
    shared = rng.normal(0, np.sqrt(0.2), size=(n, 1))
    x = strength * way + rng.normal(size=(n, N_FEATURES)) + shared
    for feature in (REPUTATION, *MORE_REPUTATION):
        x[:, feature] = _reputation(y, rng)
    return standardise(x[:n_train], y[:n_train], x[n_train:], y[n_train:])


def _reputation(y: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return scores that are 0 for 95 % of senders, else small, and for phishing hardly ever near 0.2."""
    scores = rng.beta(1.0, 7.0, size=y.size)
    scores[(y == 1) & (np.abs(scores - 0.2) < 0.05)] = 0.0
    return np.where(rng.random(y.size) < 0.95, 0.0, scores)
