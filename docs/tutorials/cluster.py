# %% [markdown]
# # Use a cluster
#
# An experiment consists of many independent trainings, and a round over files of many blocks of coordinates. Both can be
# distributed over the machines of a [Ray](https://www.ray.io) cluster. The result does not depend on the number of machines. This
# tutorial uses a cluster of one machine, which Ray starts by itself; for a real cluster, only the address changes.
#
# ## Trainings on a cluster
#
# Run `pip install '.[sim,ray]'`, then add `--workers ray` to `reproduce`. For a cluster at an address, use
# `--workers ray://host:10001`:

# %% [bash]
# holdfast reproduce table4 --tasks phishing --scale smoke --workers ray --out on-ray | tail -n 1

# %% [markdown]
# The machines need no shared disk. Results are sent back to the folder on this machine as they finish. If a machine is lost, its
# trainings resume from their last checkpoints when you run the command again.
#
# ## Rounds over files on a cluster
#
# This code writes a global model and the models of ten clients as files. Two clients are malicious.

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
# of the model nor the number of clients is limited by the memory of one machine.

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
