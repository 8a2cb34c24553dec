"""The simulator's tasks for others to train: the clients' shards, and loops over them in bare PyTorch."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["lean_loop", "optimiser_of", "shards_of", "train_on", "usual_loop"]


def shards_of(task_name: str) -> tuple[Any, Any, Any]:
    """Return the task, its data and each client's (x, y), as the simulator deals them."""
    from holdfast.lab import task_named
    from holdfast.lab.scenario import Run
    from holdfast.lab.simulation.world import build_world

    world = build_world(Run(task_named(task_name)), "cpu")
    return (
        world.run.task,
        world.data,
        [world.honest_examples(client, 1) for client in range(world.run.task.n_clients)],
    )


def optimiser_of(model: Any, task: Any) -> Any:
    """Return plain SGD with the task's settings."""
    import torch

    settings = dict(task.train.settings)
    return torch.optim.SGD(model.parameters(), lr=settings["lr"], momentum=settings["momentum"])


def train_on(model: Any, x: Any, y: Any, task: Any) -> None:
    """Train a network in place on one client's examples, with nothing that PyTorch does not need."""
    import torch

    optimiser = optimiser_of(model, task)
    for _ in range(int(task.epochs)):
        for batch in torch.randperm(len(y)).split(task.batch_size):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
            optimiser.step()


def lean_loop(task_name: str) -> Callable[[], Any]:
    """A loop over clients without any overhead that PyTorch does not need: tensors indexed, one network."""
    import torch

    task, data, shards = shards_of(task_name)
    model, rng = task.model(), np.random.default_rng(0)
    x_test = torch.from_numpy(data.x_test)

    def one_round() -> float:
        start = copy.deepcopy(model.state_dict())
        total = {name: torch.zeros_like(values) for name, values in start.items()}
        chosen = rng.choice(task.n_clients, task.n_per_round, replace=False)
        n_examples = sum(len(shards[client][1]) for client in chosen)
        for client in chosen:
            model.load_state_dict(start)
            x, y = shards[client]
            train_on(model, x, y, task)
            for name, values in model.state_dict().items():
                total[name] += values * (len(y) / n_examples)
        model.load_state_dict(total)
        with torch.no_grad():
            return float((model(x_test).argmax(1).numpy() == data.y_test).mean())

    return one_round


def usual_loop(task_name: str) -> Callable[[], Any]:
    """The loop as it is usually written: a copy of the network and a DataLoader for each client."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    task, data, shards = shards_of(task_name)
    model, rng = task.model(), np.random.default_rng(0)
    sets = [TensorDataset(x, y) for x, y in shards]
    test = TensorDataset(torch.from_numpy(data.x_test), torch.from_numpy(data.y_test))

    def one_round() -> float:
        sent = []
        chosen = rng.choice(task.n_clients, task.n_per_round, replace=False)
        for client in chosen:
            local = copy.deepcopy(model)
            optimiser = optimiser_of(local, task)
            for _ in range(int(task.epochs)):
                for x, y in DataLoader(sets[client], batch_size=task.batch_size, shuffle=True):
                    optimiser.zero_grad()
                    torch.nn.functional.cross_entropy(local(x), y).backward()
                    optimiser.step()
            sent.append((local.state_dict(), len(sets[client])))
        n_examples = sum(count for _, count in sent)
        model.load_state_dict(
            {name: sum(state[name] * (count / n_examples) for state, count in sent) for name in sent[0][0]}
        )
        n_right = 0
        with torch.no_grad():
            for x, y in DataLoader(test, batch_size=256):
                n_right += int((model(x).argmax(1) == y).sum())
        return n_right / len(test)

    return one_round
