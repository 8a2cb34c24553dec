# %% [markdown]
# # Read a verdict
#
# After each round, a watch gives a verdict on every client. In this tutorial, it watches a federation in which ten
# of fifty clients attack. You read its verdicts, and check them against what only a simulation knows: who the
# attackers are.
#
# ## A federation of your own
#
# This time we use a loop around `defend`, as on a server, instead of the laboratory. Clients have names and send updates of
# 500 numbers. Honest clients take the same step, each with its own deviations. Attackers do the same, and add a small push in a
# shared direction. The push is smaller than the differences between honest clients.

# %%
import numpy as np

from holdfast import defend, factions, krum_trimmed_mean

rng = np.random.default_rng(0)
dim, names = 500, [f"site-{number:02}" for number in range(50)]
attackers = set(names[:10])
push = rng.normal(size=dim)


def update_of(name: str) -> np.ndarray:
    """Return what a client sends."""
    honest = 0.3 + rng.normal(size=dim)
    return honest + 0.5 * push if name in attackers else honest


# %% [markdown]
# ## Rounds
#
# In each round, 25 clients take part. `sent` is a dict from client id to update; a client has the same id in every round. The
# watch keeps its memory in `state`, which you pass to the next round.

# %%
rule, state = krum_trimmed_mean(n_malicious=5), None
for number in range(1, 13):
    here = rng.permutation(names)[:25]
    sent = {str(name): update_of(str(name)) for name in here}
    result = defend(sent, rule, like=np.zeros(dim), watch=factions(), state=state)
    state = result.state
    if number in (1, 4):
        print(result.verdicts, end="\n\n")

# %% [markdown]
# After one round, no client has been heard more than once, and it is *too early to tell*. During the *hearing* the watch only
# observes, and nothing is applied to the model.
#
# ## The verdict

# %%
print(result.verdicts)

# %% [markdown]
# How to read a line:
#
# - **expelled since round …**: since then, the client's updates have been ignored. The watch still observes it, and readmits it
#   if the evidence against it falls to half.
# - **votes with faction 1**: the faction is the group of clients that deviate in the same way. Look for what they have in common.
# - **heard … times**: the number of rounds in which the client took part.
# - **false alarm: 1 in …**: in that many trainings with honest clients only, one shows as much evidence against any client. The
#   larger this number, the surer the watch is.
#
# *Suspected* means half of the evidence that an expulsion takes. The client's updates still count; look again next round.
#
# ## Was it right?

# %%
named = set(result.verdicts.named)  # expelled, or counted as one with others
print(f"attackers found: {len(named & attackers)} of {len(attackers)}")
print(f"honest clients named: {len(named - attackers)}")

# %% [markdown]
# In a real federation, nobody tells you. The watch sees that clients act together, not why: an honest group with a different
# camera looks the same. So ask what the members of a faction have in common before you ban them.
#
# ## For machines
#
# Verdicts are plain values that you can send to logs, dashboards and tickets:

# %%
worst = max(result.verdicts, key=lambda verdict: verdict.place[0])
print(worst.client, worst.standing, worst.faction, worst.since, worst.heard)
print(sorted(result.verdicts.as_dict()))

# %%
assert len(named & attackers) >= 9
assert not named - attackers

# %% [markdown]
# ## What next
#
# - [When the watch names somebody](../paths/run.md#when-the-watch-names-somebody): what to do, step by step.
# - [The watch](../watch.md): how it works, what it misses, what it costs.
# - [Honest minorities](../concepts/minorities.md): when a faction has a good reason.
