"""Slow, obvious twins of the rules that filter clients, and a full HDBSCAN to hold the short one against."""

import numpy as np

from holdfast.aggregators.clusters import k_means, n_groups

from .naive import angles, best, clipped, fedavg, norms, wide


def dnc(rows, n_malicious, samples=None, filtering=1.0):
    """`samples` are the coordinates of each repeat; by default there is one repeat, of all."""
    kept = set(range(len(rows)))
    for where in [range(rows.shape[1])] if samples is None else samples:
        part = np.asarray(rows, dtype=np.float64)[:, where]
        centred = part - part.mean(axis=0)
        _, _, directions = np.linalg.svd(centred, full_matrices=False)
        scores = (centred @ directions[0]) ** 2
        kept &= set(np.argsort(scores, kind="stable")[: len(rows) - int(np.ceil(filtering * n_malicious))])
    return fedavg(wide(rows)[sorted(kept)]) if kept else np.zeros(rows.shape[1])


def flame(rows, params=0.0):
    labels = hdbscan(angles(wide(rows) + params), min_cluster_size=len(rows) // 2 + 1, min_samples=1)
    return fedavg(clipped(rows, np.median(norms(rows)))[labels == 0])


def crfl(rows, max_norm, params=0.0, weights=None):
    model = params + fedavg(rows, weights)
    return clipped(model[None], max_norm)[0] - params


def multi_metrics(rows, kept, params=0.0):
    """In extended precision, but for an inverse of three by three or less."""
    rows = wide(rows)
    models, own = rows + params, np.broadcast_to(wide(params), rows.shape[1:])
    lengths = norms(models) * norms(own)
    turns = 1 - np.divide(models @ own, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    metrics = [np.abs(rows).sum(axis=1), norms(rows), turns]
    away = np.array([[sum(abs(one - other) for other in x) for one in x] for x in metrics])
    away = np.array([x / x.max() for x in away if x.std() > 1e-13 * x.max()], dtype=np.float64)
    if not len(away):
        return fedavg(rows[: max(1, int(kept * len(rows)))])
    inverse = np.linalg.pinv(np.atleast_2d(np.cov(away)), hermitian=True)
    scores = [x @ inverse @ x for x in away.T]
    return fedavg(rows[best(scores, max(1, int(kept * len(rows))))])


def rflbat(rows, rng, outer=10.0, inner=4.0):
    """With the groups that k-means finds, which is held to its own tests."""
    rows = np.asarray(rows, dtype=np.float64)
    centred = rows - rows.mean(axis=0)
    sides, lengths, _ = np.linalg.svd(centred, full_matrices=False)
    points = np.pad(sides * lengths, ((0, 0), (0, 1)))[:, :2]
    kept = _near(points, range(len(rows)), outer)
    groups = k_means(points[kept], n_groups(points[kept], rng, most=9, n_references=5), rng)
    likeness = {}
    for group in set(groups.tolist()):
        members = [row for row, own in zip(kept, groups, strict=True) if own == group]
        similar = 1 - angles(rows[members])
        likeness[group] = np.median(similar.mean(axis=1))
    best_group = min(sorted(likeness), key=likeness.get)
    kept = _near(points, [row for row, own in zip(kept, groups, strict=True) if own == best_group], inner)
    return fedavg(rows[kept])


def _near(points, rows, times):
    sums = {i: sum(np.linalg.norm(points[i] - points[j]) for j in rows) for i in rows}
    return [i for i in rows if sums[i] <= times * np.median([*sums.values()])]


def hdbscan(distances, min_cluster_size, min_samples):
    """Return the label of each point, -1 for noise: Campello et al., 2013, a single cluster allowed.

    Mutual reachability, single linkage, the condensed tree, excess of mass. The label of points in the root
    is theirs only if they stay until it ends, as in the library of McInnes et al.
    """
    n = len(distances)
    core = np.sort(distances, axis=1)[:, min(min_samples, n - 1)]
    reach = np.maximum(distances, np.maximum.outer(core, core))
    tree = _linked(reach)
    falls, parents, births = _condensed(tree, n, min_cluster_size)
    stability = {
        cluster: sum(min(fall, 1e300) - births[cluster] for own, fall in falls.values() if own == cluster)
        + sum(
            (births[child] - births[cluster]) * _size(child, falls, parents)
            for child, parent in parents.items()
            if parent == cluster
        )
        for cluster in births
    }
    chosen, best = set(births), dict(stability)
    for cluster in sorted(births, reverse=True):  # children before parents
        children = [child for child, parent in parents.items() if parent == cluster]
        if children and sum(best[child] for child in children) > stability[cluster]:
            best[cluster] = sum(best[child] for child in children)
            chosen.discard(cluster)
        else:
            chosen -= _below(cluster, parents)
    names = {cluster: label for label, cluster in enumerate(sorted(chosen))}
    labels = np.full(n, -1)
    for point, (cluster, fall) in falls.items():
        home = cluster
        while home not in chosen and home in parents:
            home = parents[home]
        if home in chosen and (home != 0 or fall >= max(f for own, f in falls.values() if own == 0)):
            labels[point] = names[home]
    return labels


def _linked(reach):
    """Return the root of the single-linkage tree: (height, left, right), or the number of a point."""
    n = len(reach)
    nodes = {point: (point, {point}) for point in range(n)}
    edges = sorted((reach[i, j], i, j) for i in range(n) for j in range(i))
    for height, i, j in edges:
        left, right = (next(key for key, (_, points) in nodes.items() if p in points) for p in (i, j))
        if left != right:
            (a, first), (b, second) = nodes.pop(left), nodes.pop(right)
            nodes[min(left, right)] = ((height, a, b), first | second)
    ((tree, _),) = nodes.values()
    return tree


def _points(tree):
    return {tree} if isinstance(tree, int) else _points(tree[1]) | _points(tree[2])


def _condensed(tree, n, least):
    """Return where and at which density each point falls out, the parent and the birth of each cluster."""
    falls, parents, births = {}, {}, {0: 0.0}

    def descend(node, cluster):
        if isinstance(node, int):
            falls[node] = (cluster, np.inf)
            return
        density = 1 / node[0] if node[0] > 0 else np.inf
        sides = [(side, _points(side)) for side in node[1:]]
        large = [side for side, points in sides if len(points) >= least]
        for side, points in sides:
            if len(points) < least:
                falls.update(dict.fromkeys(points, (cluster, density)))
            elif len(large) == 2:
                born = len(births)
                parents[born], births[born] = cluster, density
                descend(side, born)
            else:
                descend(side, cluster)

    descend(tree, 0)
    return falls, parents, births


def _below(cluster, parents):
    children = {child for child, parent in parents.items() if parent == cluster}
    return children.union(*(_below(child, parents) for child in children))


def _size(cluster, falls, parents):
    inside = {cluster, *_below(cluster, parents)}
    return sum(own in inside for own, _ in falls.values())
