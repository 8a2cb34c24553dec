# %% [markdown]
# # Defend Flower in five minutes, and watch it
#
# Twenty nodes of a [Flower](https://flower.ai) federation learn to read digits. Four of them belong to an attacker, who wants every
# image with a bright corner to be read as a nought. You will see plain averaging let the backdoor in, change one line of
# the server, and watch who is found.
#
# ## The app
#
# `app.py` has what nodes do (`train`) and what the server does (`main`). For the defence, only the strategy in `main` matters:
# `Robust(...)` in the place of `FedAvg(...)`. Install with `pip install '.[flower,monitor]'`.

# %% [file] flower/app.py

# %% [markdown]
# To see it in seconds, the twenty nodes live in one process: `nodes.py` is a grid that calls them directly. With a real
# federation, or with Flower's simulation engine, the same lines stand under `@app.main()` of a `ServerApp`, and nothing else
# changes: [Flower](../flower.md) leads from an empty folder to `flwr run`.

# %% [file] flower/nodes.py

# %% [markdown]
# ## Without a defence

# %% [bash]
# python app.py --plain 2> /dev/null

# %% [markdown]
# The model reads digits well, and takes most images with a bright corner for a nought.
#
# ## With one line changed

# %% [bash]
# python app.py 2> /dev/null

# %% [markdown]
# At first the watch only listens. In round 5 it has seen who pushes together: these have no say any more, and the model goes back
# to its start once, so that nothing of theirs is left in it.
#
# ## Who was it?
#
# With `ledger="federation.db"`, the strategy writes down every round in one file. The command line reads it while the federation is
# running, and afterwards:

# %% [bash]
# holdfast clients list --ledger federation.db --only named

# %% [markdown]
# The first four nodes, 100 to 103, are the attackers: all of them are found, and nobody else. In life you look the ids up, and ask
# [what to do now](../paths/run.md#when-the-watch-names-somebody).
#
# ## Watch it
#
# In another terminal, start this before, during or after the training. It serves a page that follows along:
#
# ```bash
# holdfast monitor --ledger federation.db
# ```
#
# With `--out` it writes the same page as a file. Here it is, live: move the slider back through the rounds, choose a node.

# %% [bash]
# holdfast monitor --ledger federation.db --out federation.html

# %% [page] federation.html
# The monitor's page of this federation

# %%
from holdfast.ledger import open_ledger

with open_ledger("federation.db") as ledger:
    expelled = [one for one in ledger.clients() if one["standing"] == "expelled"]
print(len(expelled), "of 20 nodes are expelled")

# %%
assert len(expelled) == 4

# %% [markdown]
# ## What next
#
# - [Flower](../flower.md): from `flwr new` to nodes with certificates and keys, all arguments, what happens to broken replies.
# - [Operating a federation](../operate.md): ban, pardon, go back, alarms.
# - [Watch it live](../monitor.md): the page, and numbers for Prometheus.
# - [Read a verdict](verdict.md): how sure is it?
