# %% [markdown]
# # Use a cluster
#
# Experiments are many trainings that do not wait for each other, and a round over files is many blocks of coordinates. Both can be
# shared out over the machines of a [Ray](https://www.ray.io) cluster. What comes out does not depend on how many there are. This
# tutorial uses a cluster of one machine, which Ray starts by itself; for a real one, only the address changes.
#
# ## Trainings on a cluster
#
# `pip install '.[sim,ray]'`, then add `--workers ray` to `reproduce`. At an address it is `--workers ray://host:10001`:

# %% [bash]
# holdfast reproduce table4 --tasks phishing --scale smoke --workers ray --out on-ray | tail -n 1

# %% [markdown]
# The machines need no disk in common. Results travel back as they finish, into the folder on this machine, and whatever is lost
# with a machine resumes from its last checkpoint when you type the command again.
#
# ## Rounds over files on a cluster
#
# Here are a global model and what ten clients have made of it, as files. Two clients lie.

# %%
from pathlib import Path

import numpy as np

from holdfast.files import load_tensors, save_tensors

rng = np.random.default_rng(0)
model = {"layer.weight": rng.normal(size=(300, 200)).astype(np.float32)}
save_tensors("global.safetensors", model)
Path("clients").mkdir()
for number in range(10):
    step = -5.0 if number < 2 else 0.1
    noise = 0.01 * rng.normal(size=(300, 200)).astype(np.float32)
    sent = {"layer.weight": model["layer.weight"] + np.float32(step) + noise}
    save_tensors(f"clients/site-{number}.safetensors", sent)

# %% [bash]
# holdfast aggregate clients/*.safetensors --base global.safetensors --rule median --workers ray --out next.safetensors
# holdfast aggregate clients/*.safetensors --base global.safetensors --rule median --out here.safetensors > /dev/null
# cmp next.safetensors here.safetensors && echo "the same bytes"

# %% [markdown]
# The cluster's workers must see the files under the same paths. Every worker reads its own blocks of coordinates, so neither the size
# of the model nor the number of clients is bounded by the memory of one machine.

# %%
moved = load_tensors(Path("next.safetensors"))["layer.weight"] - model["layer.weight"]
print(f"the model moved by {moved.mean():.2f}: the honest step is 0.10, that of the liars -5.00")

# %%
assert abs(moved.mean() - 0.1) < 0.02

# %% [markdown]
# ## What next
#
# - [Rounds over files](../files.md): memory, reports, exit codes.
# - [Reproduce a table of the paper](reproduce.md): what to run on your cluster.
