"""Slow, obvious twins of the rules that remember every client: loops over clients, dictionaries by id."""

import numpy as np

from .naive import cosines, norms, wide


def foolsgold_weights(histories, confidence=1.0):
    """Return each client's weight from the histories of all, as the paper's algorithm goes."""
    n = len(histories)
    similar = [[0 if i == k else cosines(histories[i], histories[k]) for k in range(n)] for i in range(n)]
    closest = [max(row) for row in similar]
    pardoned = [
        [c * closest[i] / closest[k] if closest[i] < closest[k] else c for k, c in enumerate(row)]
        for i, row in enumerate(similar)
    ]
    alone = wide([min(1, max(0, 1 - max(row))) for row in pardoned])
    alone[alone < 1e-9] = 0
    if not alone.any():
        return alone
    alone = alone / alone.max()
    with np.errstate(divide="ignore"):
        return np.clip(confidence * (np.log(alone / (1 - alone)) + 0.5), 0, 1)


def foolsgold(rows, confidence=1.0, clients=None, memory=None):
    """Return the update; `memory`, histories by id, is brought up to date."""
    memory = {} if memory is None else memory
    clients = range(len(rows)) if clients is None else clients
    for client, row in zip(clients, wide(rows), strict=True):
        memory[client] = memory.get(client, 0) + row / max(1, norms(row))
    weights = dict(zip(memory, foolsgold_weights(list(memory.values()), confidence), strict=True))
    own = wide([weights[client] for client in clients])
    return (own / own.sum() if own.any() else own) @ wide(rows)


def cached(rows, clients, memory, momentum, rule):
    """Return the rule's update of all momenta; `memory`, momenta by id, is brought up to date."""
    for client, row in zip(clients, wide(rows), strict=True):
        memory[client] = (1 - momentum) * memory.get(client, 0) + momentum * row
    return rule(np.array(list(memory.values())))
