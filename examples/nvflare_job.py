"""Runs the aggregator in NVFlare's simulator: five sites, one of them malicious, three rounds."""

import sys
from pathlib import Path

import numpy as np
from nvflare.app_common.np.recipes.fedavg import NumpyFedAvgRecipe
from nvflare.recipe import SimEnv

sys.path.insert(0, str(Path(__file__).parent))
from nvflare_aggregator import HoldfastAggregator

WORKSPACE = sys.argv[1] if len(sys.argv) > 1 else "nvflare-workspace"


def main() -> None:
    recipe = NumpyFedAvgRecipe(
        name="holdfast",
        model=[[0.0, 0.0], [0.0, 0.0]],
        min_clients=5,
        num_rounds=3,
        train_script=str(Path(__file__).parent / "nvflare_client.py"),
        aggregator=HoldfastAggregator("invariant", {"tau": 0.5, "alpha": 0.25}, {"numpy_key": [2, 2]}),
        params_transfer_type="DIFF",
        aggregator_data_kind="WEIGHT_DIFF",
    )
    recipe.execute(SimEnv(num_clients=5, workspace_root=WORKSPACE))
    [found] = Path(WORKSPACE).rglob("server.npy")
    print("the model after three rounds:", [f"{x:.1f}" for x in np.load(found).ravel()])


if __name__ == "__main__":
    main()
