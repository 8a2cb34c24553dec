"""Runs that take a moment."""

from holdfast.lab.choices import Numbers, build_run

NUMBERS = Numbers(n_rounds=3, n_clients=12, n_per_round=6)
LITTLE_DATA = {"n_train": 600, "n_test": 100, "sizes": (45, 8, 2), "n_root": 20}


def tiny_run(defence="fedavg", attack="edge-case", *, n_rounds=3, seed=0, **settings):
    """Return a run of a few milliseconds a round."""
    numbers = Numbers(n_rounds, NUMBERS.n_clients, NUMBERS.n_per_round)
    settings = LITTLE_DATA | settings
    return build_run(
        "phishing", attack=attack, defence=defence, settings=settings, numbers=numbers, seed=seed
    )
