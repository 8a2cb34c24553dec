# %% [markdown]
# # Read a verdict
#
# A watch says after each round what it thinks of every client. This tutorial lets it watch a federation in which ten
# of fifty clients attack, reads what it says, and checks it against what only a simulation knows: who the
# attackers are.
#
# ## A federation of your own
#
# No laboratory this time, but a loop around `defend`, as on a server. Clients are named, and send updates of
# 500 numbers. Honest ones take the same step, each with its own deviations. Attackers do too, and add a small push in a
# direction that they share. It is smaller than what honest clients differ by.

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
# In each round, 25 clients take part. `sent` is a dict of client id to update, and ids are the same in every round. What the
# watch remembers goes around in `state`.

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
# After one round everybody has been heard once, and it is *too early to tell*. During the *hearing* the watch listens,
# and nothing is applied to the model.
#
# ## The verdict

# %%
print(result.verdicts)

# %% [markdown]
# How to read a line:
#
# - **expelled since round …**: from then on the client has had no say. It is still heard, and returns if the evidence
#   against it fades to a half.
# - **votes with faction 1**: the clients that deviate in the same way. Look for what they have in common.
# - **heard … times**: in how many rounds it took part.
# - **false alarm: 1 in …**: of so many trainings of honest clients alone, one shows as much evidence against anybody. The
#   larger this number, the surer.
#
# *Suspected* is half of the evidence that an expulsion takes: the client keeps its say; look again next round.
#
# ## Was it right?

# %%
expelled = set(result.verdicts.of("expelled"))
print(f"attackers found: {len(expelled & attackers)} of {len(attackers)}")
print(f"honest clients expelled: {len(expelled - attackers)}")

# %% [markdown]
# In life nobody tells you. The watch sees that clients act together, not why: an honest group with another camera looks
# the same. So ask what the members of a faction have in common before you ban them.
#
# ## For machines
#
# Verdicts are plain values, for logs, dashboards and tickets:

# %%
worst = max(result.verdicts, key=lambda verdict: verdict.place[0])
print(worst.client, worst.standing, worst.faction, worst.since, worst.heard)
print(sorted(result.verdicts.as_dict()))

# %%
assert len(expelled & attackers) >= 9
assert not expelled - attackers

# %% [markdown]
# ## What next
#
# - [When the watch names somebody](../paths/run.md#when-the-watch-names-somebody): what to do, step by step.
# - [The watch](../watch.md): how it works, what it misses, what it costs.
# - [Honest minorities](../concepts/minorities.md): when a faction has a good reason.
