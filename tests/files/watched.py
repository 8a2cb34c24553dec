"""Rounds as files in which some clients push together."""

import numpy as np

from .rounds import write_round

N, N_ATTACKERS = 20, 4
SHAPES = {"a.weight": (40, 30), "b.bias": (7,)}


def a_base():
    rng = np.random.default_rng(1)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}


def models_of(number, base):
    """What the clients make of a model in a round: each its own way, and c00 to c03 push the same."""
    rng, ways = np.random.default_rng([2, number]), np.random.default_rng(3)
    models = []
    for client in range(N):
        model = {}
        for name, values in base.items():
            own, plot = ways.normal(size=values.shape), np.random.default_rng(4).normal(size=values.shape)
            way = own + plot if client < N_ATTACKERS else own
            model[name] = np.asarray(values + 0.1 * way + 0.05 * rng.normal(size=values.shape), np.float32)
        models.append(model)
    return models


def write_watched(folder, number, base):
    """Store a round in a folder of its own; return the base's path, the clients' and their models by name."""
    folder = folder / f"round{number}"
    folder.mkdir()
    models = models_of(number, base)
    at, clients = write_round(folder, base, models)
    return at, clients, {path.stem: model for path, model in zip(clients, models, strict=True)}
