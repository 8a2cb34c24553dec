# %% [markdown]
# # Defend Flower in five minutes, and watch it
#
# Twenty nodes of a [Flower](https://flower.ai) federation learn to read digits. Four of them belong to an attacker, who wants every
# image with a bright corner to be read as a zero. You will see plain averaging let the backdoor in, change one line of
# the server, and see which nodes are found.
#
# ## The app
#
# `app.py` defines what nodes do (`train`) and what the server does (`main`). For the defence, only the strategy in `main` matters:
# `Robust(...)` instead of `FedAvg(...)`. Install with `pip install '.[flower,monitor]'`.

# %% [file] flower/app.py

# %% [markdown]
# To keep this fast, the twenty nodes run in one process: `nodes.py` is a grid that calls them directly. In a real
# federation, or with Flower's simulation engine, put the same lines under `@app.main()` of a `ServerApp`; nothing else
# changes. [Flower](../flower.md) leads from an empty folder to `flwr run`.

# %% [file] flower/nodes.py

# %% [markdown]
# ## Without a defence

# %% [bash]
# python app.py --plain 2> /dev/null

# %% [markdown]
# The model reads digits well, but it classifies most images with a bright corner as a zero.
#
# ## With one line changed

# %% [bash]
# python app.py 2> /dev/null

# %% [markdown]
# At first the watch only observes. In round 5 it knows which nodes push together. From then on it excludes them, and it resets the
# model to its start once, so that nothing of theirs is left in it.
#
# ## Who was it?
#
# With `ledger="federation.db"`, the strategy records every round in one file. You can read it from the command line while the
# federation is running, and afterwards:

# %% [bash]
# holdfast clients list --ledger federation.db --only named

# %% [markdown]
# The first four nodes, 100 to 103, are the attackers: the watch has found all of them, and nobody else. In a real federation you
# would look up the ids and decide [what to do now](../paths/run.md#when-the-watch-names-somebody).
#
# ## Watch it
#
# Run this in another terminal before, during or after the training. It serves a page that updates live:
#
# ```bash
# holdfast monitor --ledger federation.db
# ```
#
# With `--out`, it writes the same page to a file. Here it is, interactive: move the slider back through the rounds, or choose a
# node.

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
# - [Operating a federation](../operate.md): ban and pardon clients, go back to an earlier model, set up alarms.
# - [Watch it live](../monitor.md): the page, and metrics for Prometheus.
# - [Read a verdict](verdict.md): how sure is the watch?
