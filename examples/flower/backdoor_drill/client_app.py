"""The client: trains on its own examples. The drill's mod does nothing unless the node has a part in it."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from .task import RED_TEAM, TASKS, answers, data_of, shard, train

app = ClientApp(mods=[RED_TEAM])


def _model_and_shard(message: Message, context: Context):  # noqa: ANN202
    name = context.run_config["task"]
    model = TASKS[name].fresh_model()
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    config = context.node_config
    return name, model, shard(name, config["partition-id"], config["num-partitions"])


@app.train()
def train_locally(message: Message, context: Context) -> Message:
    name, model, (x, y) = _model_and_shard(message, context)
    n_own = len(y)
    x, y = RED_TEAM.poisoned(x, y, message, context, data=data_of(name))
    train(model, x, y, TASKS[name], seed=context.node_config["partition-id"])
    content = RecordDict(
        {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord({"num-examples": n_own})}
    )
    return Message(content, reply_to=message)


@app.evaluate()
def evaluate(message: Message, context: Context) -> Message:
    _, model, (x, y) = _model_and_shard(message, context)
    accuracy = float((answers(model, x) == y).mean())
    metrics = MetricRecord({"accuracy": accuracy, "num-examples": len(y)})
    return Message(RecordDict({"metrics": metrics}), reply_to=message)
