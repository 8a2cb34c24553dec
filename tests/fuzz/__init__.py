"""A standing adversary: it makes up rounds, replies, files, states and kills, and never gets through.

`ADVERSARIES` names one module each, with a function `attack(rng, folder)`: it draws one case, raises if
something is wrong, and returns in a word or two what became of the case. A case depends on its seed and its
number alone.
"""

import logging
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np

__all__ = ["ADVERSARIES", "adversary_of", "attacked", "command"]

#: Their shares of all cases. A kill takes a process, and seconds.
ADVERSARIES = {"differential": 0.6, "replies": 0.15, "files": 0.1, "states": 0.149, "kills": 0.001}


def adversary_of(seed, case):
    """Return whose turn it is."""
    return str(np.random.default_rng([seed, case]).choice([*ADVERSARIES], p=[*ADVERSARIES.values()]))


def attacked(name, seed, case):
    """Make one case of an adversary, in a folder of its own; return what became of it."""
    attack = import_module(f"{__name__}.{name}").attack
    rng = np.random.default_rng([seed, case, [*ADVERSARIES].index(name)])
    logging.disable()  # clients are dropped by the thousand
    try:
        with tempfile.TemporaryDirectory() as folder:
            return attack(rng, Path(folder))
    finally:
        logging.disable(logging.NOTSET)


def command(name, seed, case):
    """Return what repeats a case."""
    return f"python -m {__name__} --only {name} --case {case} --seed {seed}"
