# %% [markdown]
# # Bring your own task
#
# Your arrays, your network, your attack and your rule are plain functions. This tutorial builds a task from them, attacks
# it, and compares a custom rule with plain averaging.
#
# ## Your data
#
# A function that returns a `Dataset` provides training inputs and labels, and test inputs and labels, as NumPy arrays. In
# practice it loads a file; here it generates points that are *far out* (label 1) or not (label 0).

# %%
from functools import partial

import numpy as np
import torch

from holdfast import Aggregate, rule
from holdfast.lab import Attack, Defence, Run, Task, check, simulate
from holdfast.lab.attacks import Backdoor
from holdfast.lab.data import Dataset
from holdfast.lab.training import batched_sgd

torch.set_num_threads(1)  # a network this small is quickest so


def rings(*, n: int = 1200) -> Dataset:
    x = np.random.default_rng(0).normal(size=(n, 3))
    y = np.linalg.norm(x, axis=1) > 1.5
    return Dataset(x[200:], y[200:], x[:200], y[:200])


# %% [markdown]
# ## Your network, and how clients train
#
# Use any `torch.nn.Module`. Training is a function too; `batched_sgd` is the usual choice. A `Task` defines what honest
# clients do.


# %%
def network() -> torch.nn.Module:
    return torch.nn.Sequential(torch.nn.Linear(3, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))


train = partial(batched_sgd, lr=0.2)
task = Task("rings", rings, network, train, epochs=5, batch_size=16, n_clients=20, n_per_round=10)

# %% [markdown]
# By default, examples are distributed to clients at random, and `Task` sets the number of rounds.

# %%
*_, (last, _) = simulate(Run(task))
print(f"{last.round} rounds, nobody attacks: accuracy {last.accuracy:.2f}")

# %% [markdown]
# ## Your attack
#
# A `Backdoor` has the label that attackers want, a function that returns poisoned examples, and the *challenge*, the inputs
# on which success is measured. These attackers label one corner of the space *not far out*. A *craft* is a function that
# changes the attackers' updates before they send them: this one triples them.


# %%
def corner(data: Dataset, *, value: float) -> Backdoor:
    def poison(
        x: np.ndarray, y: np.ndarray, count: int, attacker: int, rng: np.random.Generator
    ) -> np.ndarray:
        return rng.normal(value, 0.1, size=(count, 3)).astype(np.float32)

    challenge = np.random.default_rng(1).normal(value, 0.1, size=(100, 3)).astype(np.float32)
    return Backdoor(0, poison, challenge)


def louder(updates: np.ndarray, *, factor: float) -> np.ndarray:
    return updates * np.float32(factor)


crafts = (partial(louder, factor=3.0),)
attack = Attack("corner", 4, partial(corner, value=2.0), crafts=crafts, poison_fraction=0.3)

# %% [markdown]
# ## Your rule
#
# A rule is a function that takes the clients' updates, one per row, and returns an `Aggregate`. `@rule` turns it into a rule
# that every part of holdfast accepts. `check` tests it on synthetic rounds before any training.


# %%
@rule
def middle(updates: np.ndarray) -> Aggregate:
    """Return the median of each coordinate."""
    return Aggregate(np.median(np.asarray(updates), axis=0))


print(check(middle))

# %% [markdown]
# ## All together

# %%
found = {}
for defence in (Defence(), Defence("middle", middle)):
    *_, (last, _) = simulate(Run(task, attack, defence))
    found[defence.name] = last
    print(f"{defence.name}: accuracy {last.accuracy:.2f}, attack success {last.attack_success:.2f}")

# %%
assert found["fedavg"].attack_success > 0.9
assert found["middle"].attack_success < 0.1
assert found["middle"].accuracy > 0.85

# %% [markdown]
# ## What next
#
# - Put the functions into a file, and every command accepts it: `holdfast compare mine.py --defences fedavg,mine.middle`. See
#   [Your own task, attack and rule](../lab.md).
# - [examples/tutorial.ipynb](../../examples/tutorial.ipynb) does the same on real images, compares over seeds, and then
#   attacks the rule itself.
# - See the built-in [attacks](../attacks.md) and [rules](../rules.md).
