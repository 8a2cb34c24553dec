"""A server that trains two rounds with a median, and writes what came out."""

import json
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context
from flwr.serverapp import Grid, ServerApp

from holdfast import median
from holdfast.flower import Robust

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    config = context.run_config
    strategy = Robust(median, min_available_nodes=config["nodes"], fraction_evaluate=0.0, min_replies=2)
    start = ArrayRecord([np.zeros(1000, np.float32)])
    result = strategy.start(grid, start, num_rounds=2, timeout=config["timeout"])
    rounds = {number: dict(said) for number, said in result.train_metrics_clientapp.items()}
    out = Path(config["out"])
    out.mkdir(exist_ok=True)
    np.savez(out / "model.npz", *result.arrays.to_numpy_ndarrays())
    (out / "result.json").write_text(json.dumps({"train": rounds}))
