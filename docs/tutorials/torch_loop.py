# %% [markdown]
# # Defend a PyTorch loop
#
# You have a loop that sends a model to clients, gets state dicts back and averages them. You change two lines, and nothing
# in your network: holdfast takes care of BatchNorm's running means and other buffers.
#
# ## Clients
#
# Ten clients learn whether two numbers have a positive sum. Two of them flip every label.

# %%
import copy

import torch

from holdfast import defend, factions, krum_trimmed_mean

torch.manual_seed(0)
torch.set_num_threads(1)


def examples(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(n, 2)
    return x, (x.sum(dim=1) > 0).long()


def trained_by_a_client(model: torch.nn.Module, *, lies: bool) -> dict[str, torch.Tensor]:
    local = copy.deepcopy(model)
    optimiser = torch.optim.SGD(local.parameters(), lr=0.3)
    x, y = examples(64)
    for _ in range(5):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(local(x), 1 - y if lies else y).backward()
        optimiser.step()
    return local.state_dict()


# %% [markdown]
# ## The server
#
# `sent` is a dict from client id to state dict. One of the clients is broken and sends NaN. `defend` returns the next
# state dict, and `load_state_dict` loads it: those are the two lines.

# %%
model = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.BatchNorm1d(16), torch.nn.Linear(16, 2))
rule = krum_trimmed_mean(n_malicious=3)
for _ in range(8):
    sent = {f"client-{number}": trained_by_a_client(model, lies=number < 2) for number in range(10)}
    sent["client-9"] = {name: values * torch.nan for name, values in sent["client-9"].items()}
    result = defend(sent, rule, base=model.state_dict(), explain=True)
    model.load_state_dict(result.model)

# %%
x, y = examples(1000)
accuracy = (model.eval()(x).argmax(dim=1) == y).float().mean()
print(f"accuracy {accuracy:.2f}")

# %% [markdown]
# ## What happened in the last round
#
# `diagnostics` says which clients were dropped and why, which ones the rule left out, and how many attackers its published
# guarantee tolerates. `explain=True` adds a line per client.

# %%
print(result.diagnostics)

# %% [markdown]
# ## With a watch
#
# If clients keep their ids and you have about twenty or more, put a watch in front of the rule. It keeps its memory in
# `state`: pass it to the next round, and save it in your checkpoints:

# %%
state = None
for _ in range(2):
    sent = {f"client-{number}": trained_by_a_client(model, lies=number < 2) for number in range(20)}
    result = defend(sent, rule, base=model.state_dict(), watch=factions(), state=state)
    model.load_state_dict(result.model)
    state = result.state
print(result.verdicts)

# %%
assert accuracy > 0.95

# %% [markdown]
# ## What next
#
# - [With other frameworks](../integrations.md): JAX, NVFlare, trackers.
# - [Flower](../flower.md), if you would rather not write the loop yourself.
# - [Read a verdict](verdict.md).
