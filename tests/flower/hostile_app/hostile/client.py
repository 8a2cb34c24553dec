"""Nodes that reply what their part says: an honest update, too much, what nobody can decode, or nothing."""

import json
import time

import numpy as np
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.supercore.inflatable.inflatable_object import add_header_to_object_body

MANY, LARGE = 5_000, 8_000_000  # metrics; numbers of four bytes

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    number, config = message.content["config"]["server-round"], context.node_config
    print(f"round {number}", flush=True)
    (model,) = message.content["arrays"].to_numpy_ndarrays()
    noise = np.random.default_rng(config["partition-id"]).normal(scale=0.01, size=model.shape)
    update, metrics = model + 1 + noise.astype(np.float32), {"num-examples": 10, "loss": 0.5}
    match config.get("part"), number:
        case "oversized", 1:
            update = np.ones(LARGE, np.float32)
        case "oversized", _:
            metrics |= {f"metric-{place}": 1.0 for place in range(MANY)}
        case "malformed", 1:
            spoil(Array, json.dumps({**described(update), "arraychunk_ids": [7]}).encode())
        case "malformed", _:
            spoil(MetricRecord, b"\xff" * 40)
        case "slow", _:
            time.sleep(3600)
    content = RecordDict({"arrays": ArrayRecord([update]), "metrics": MetricRecord(metrics)})
    return Message(content, reply_to=message)


def spoil(kind: type, body: bytes) -> None:
    """Let all objects of this kind be uploaded with another body, under a header and a name that fit it."""
    kind.deflate = lambda self: add_header_to_object_body(body, self)  # type: ignore[attr-defined]


def described(update: np.ndarray) -> dict[str, object]:
    return {"dtype": "float32", "shape": update.shape, "stype": "numpy.ndarray"}
