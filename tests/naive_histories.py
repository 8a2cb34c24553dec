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


def curvature(applied, window):
    """Return the matrix by which updates change with the model: BFGS, one move and its change at a time."""
    applied = np.array(applied[-window - 1 :], dtype=np.float64)
    moves, changes = applied[:-1], np.diff(applied, axis=0)
    dim = applied.shape[1]
    if not len(moves):
        return np.zeros((dim, dim))
    matrix = changes[-1] @ moves[-1] / (moves[-1] @ moves[-1]) * np.eye(dim)
    for s, y in zip(moves, changes, strict=True):
        matrix = matrix - np.outer(matrix @ s, matrix @ s) / (s @ matrix @ s) + np.outer(y, y) / (y @ s)
    return matrix


def fl_detector_scores(rounds, applied, window):
    """Return each client's last scores by id, of rounds, each a dictionary by id, and what was applied."""
    scores = {}
    for t in range(1, len(rounds)):
        change = curvature(applied[:t], window) @ applied[t - 1]
        again = [client for client in rounds[t] if client in rounds[t - 1]]
        distances = [np.linalg.norm(rounds[t - 1][c] + change - rounds[t][c]) for c in again]
        for client, distance in zip(again, distances, strict=True):
            scores.setdefault(client, []).append(distance / np.mean(distances))
    return {client: own[-window:] for client, own in scores.items()}
