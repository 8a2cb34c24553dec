# %% [markdown]
# # The paper's rule at work on one round
#
# *Invariant Aggregator for Defending against Federated Backdoor Attacks*
# ([Wang et al., 2024](https://arxiv.org/abs/2210.01834)) combines two ideas. A coordinate of the model moves
# only if the clients agree on its sign; if it moves, it moves by a trimmed mean. This notebook takes one
# round apart and shows what each half does, coordinate by coordinate.
#
# The round is a real one: 50 clients train a small network on scikit-learn's digits, 10 of them are
# malicious, and 20 take part in each round. Attackers teach the model that sevens lying on their side are
# ones. It takes seconds and needs no download:
#
# ```
# pip install '.[sim,report]' ipykernel   # in a checkout of holdfast
# ```
#
# The rule, its settings and the paper's protocol stand on one page:
# [docs/algorithm.md](../docs/algorithm.md).

# %%
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import torch

from holdfast import Aggregate, fedavg, invariant, rule
from holdfast.lab import Defence, build_run, simulate
from holdfast.lab.leaks import let_through

torch.set_num_threads(1)  # a network this small is quickest so

# %% [markdown]
# ## One round
#
# A rule sees the updates of a round, one row per client. This one averages them and keeps a copy. Nobody
# attacks in the first five rounds; in the sixth, four of the 20 clients do.

# %%
rounds = []


@rule
def copying_average(updates: np.ndarray) -> Aggregate:
    rounds.append(np.array(updates, dtype=float))
    return fedavg(updates)


run = build_run("digits", attack="edge-case")
run = run.replace(attack=replace(run.attack, rounds=[6]), defence=Defence("copying", copying_average))
record = next(record for record, _ in simulate(run) if record.round == 6)
updates = rounds[-1]
attacks = np.isin(record.clients, record.attackers)

print(f"{len(updates)} clients, {attacks.sum()} of them attackers; {updates.shape[1]:,} coordinates")
print(f"averaged: accuracy {record.accuracy:.0%}, attack success {record.attack_success:.0%}")

# %% [markdown]
# ## Algorithm 1
#
# `tau` and `alpha` are those of two of the paper's three tasks.


# %%
def votes(g: np.ndarray) -> np.ndarray:
    """How strongly the clients agree on each coordinate: 0 for a tie, 1 if all have one sign."""
    return abs(np.sign(g).sum(axis=0)) / len(g)


def trimmed_mean(g: np.ndarray, alpha: float) -> np.ndarray:
    """The mean of each coordinate without the largest and the smallest values."""
    k = int(np.ceil(alpha * len(g) - 1e-9))
    return np.sort(g, axis=0)[k : len(g) - k].mean(axis=0)


TAU, ALPHA = 0.6, 0.25
mask = votes(updates) >= TAU - 1e-9
result = mask * trimmed_mean(updates, ALPHA)

library = invariant(updates, tau=TAU, alpha=ALPHA).update
print("the same as holdfast's invariant:", np.allclose(result, library, rtol=1e-4, atol=1e-9))

# %% [markdown]
# ## The votes
#
# With 20 clients the agreement is a multiple of a tenth. `tau = 0.6` asks for 16 against 4, `tau = 0.2` for
# 12 against 8. The paper prints `>`, its text and its released code say `>=`. Many coordinates lie exactly on
# the threshold, so the difference is large.

# %%
for tau in (0.2, 0.6):
    passing, above = votes(updates) >= tau - 1e-9, votes(updates) > tau + 1e-9
    print(f"tau {tau}: {passing.mean():.0%} of the coordinates pass with >=, {above.mean():.0%} with >")

# %% [markdown]
# ## Two coordinates
#
# The attackers' *push* is the difference between their mean and the honest clients' mean. The first
# coordinate is the one with the largest push among those that the mask stops. The second is the one, among
# those that pass, in which the result lies furthest from the honest mean towards the attackers.

# %%
honest = updates[~attacks].mean(axis=0)
push = updates[attacks].mean(axis=0) - honest
stopped = np.argmax(abs(push) * ~mask)
passed = np.argmax((result - honest) * np.sign(push) * mask)

for name, j in (("stopped", stopped), ("passed", passed)):
    up, down = (updates[:, j] > 0).sum(), (updates[:, j] < 0).sum()
    print(f"{name}: {up} clients up, {down} down, agreement {votes(updates)[j]:.1f}")
    print(f"    honest mean {honest[j]:+.4f}, attackers' mean {honest[j] + push[j]:+.4f}")
    print(f"    average {updates[:, j].mean():+.4f}, trimmed mean {trimmed_mean(updates, ALPHA)[j]:+.4f}")
    print(f"    the rule returns {result[j]:+.4f}")

# %%
figure, (left, *places) = plt.subplots(1, 3, figsize=(11, 3.2), layout="constrained")
left.hist(votes(updates), bins=np.arange(-0.05, 1.1, 0.1), color="0.75", edgecolor="white")
left.axvline(TAU - 0.05, color="black", lw=1)
left.set(title="agreement of all coordinates", xlabel="agreement, the line: tau", ylabel="coordinates")
for place, name, j in zip(places, ("stopped", "passed"), (stopped, passed), strict=True):
    order = np.argsort(updates[:, j])
    k = int(np.ceil(ALPHA * len(updates)))
    heights, colours = np.arange(len(order)), np.where(attacks[order], "#c0392b", "#2471a3")
    kept = (heights >= k) & (heights < len(order) - k)
    place.scatter(updates[order, j], heights, c=np.where(kept, colours, "white"), edgecolors=colours)
    place.axvline(0, color="0.8", lw=1, zorder=0)
    place.axvline(result[j], color="black", lw=1)
    place.set(title=f"{name}: coordinate {j}", xlabel="update, the line: the result", yticks=[])

# %% [markdown]
# A dot is a client, red for attackers, sorted by value. Hollow dots are trimmed.
#
# In the coordinate that is stopped, most honest clients go up, and three of the four attackers pull hard the
# other way. The average ends near zero. The mask finds too little agreement and returns exactly zero: the
# attackers do not turn this coordinate, but they keep it from learning.
#
# In the coordinate that passes, all 20 clients agree, and the attackers only go further. No rule that looks
# at the signs of one coordinate can tell them from the others.
#
# ## Over all coordinates
#
# *Gain* is how much of the honest step is in the result; 1 is all of it. *Dose* is how much of the attack it
# has per honest step; plain averaging has the attackers' share, 4 of 20.

# %%
results = {
    "plain averaging": updates.mean(axis=0),
    "trimmed mean, alpha 0.25": trimmed_mean(updates, 0.25),
    "mask, tau 0.6": mask * updates.mean(axis=0),
    "both, tau 0.2, alpha 0.25": (votes(updates) >= 0.2 - 1e-9) * trimmed_mean(updates, 0.25),
    "both, tau 0.6, alpha 0.25": result,
    "both, tau 0.6, alpha 0.45": mask * trimmed_mean(updates, 0.45),
}
print(f"{'':26} {'moves':>6} {'gain':>6} {'dose':>6}")
for name, applied in results.items():
    let = let_through(updates, attacks, applied)
    print(f"{name:26} {(applied != 0).mean():6.0%} {let.gain:6.2f} {let.dose:6.2f}")

# %% [markdown]
# In this round the rule lowers the dose, and trimming does most of it. A dose above zero, round after round,
# can still plant a backdoor that no honest client contradicts:
# [docs/results/why.md](../docs/results/why.md). [docs/paper-network.md](../docs/paper-network.md) has the
# paper's own network.
