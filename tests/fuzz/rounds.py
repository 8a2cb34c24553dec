"""Rounds that nobody would write down: odd shapes, types and memory, hostile rows, counts that lie."""

import math
from dataclasses import dataclass

import ml_dtypes
import numpy as np

TYPES = {name: np.dtype(name) for name in ("float16", "float32", "float64")}
TYPES["bfloat16"] = np.dtype(ml_dtypes.bfloat16)
#: What a client may send instead of a layer.
NONSENSE = [
    None,
    "me",
    b"\0",
    {},
    [],
    object(),
    np.ones((2, 2, 2)),
    np.array(["x"]),
    float("nan"),
    10**400,
    {1},
]
COUNTS = [
    0,
    1,
    5,
    10**8,
    10**8 + 1,
    10**400,
    -1,
    -0.0,
    0.5,
    float("nan"),
    float("inf"),
    None,
    "7",
    1 + 2j,
    [3],
]
#: A buffer of models that are mappings, and the server's own count in it.
COUNTER, COUNTED = "bn.num_batches_tracked", 7


def pick(rng, items):
    """Return one of some items, whatever they are."""
    return items[int(rng.integers(len(items)))]


@dataclass
class Round:
    """What a server is given, and what of it a rule should see."""

    kind: str  # array, layers, mapping or nested
    shapes: list[tuple[int, ...]]
    types: list[np.dtype]
    base: list[np.ndarray]  # [layer] of the server's model
    is_model: bool  # clients send models, not updates
    is_named: bool  # they come by name, not in a row
    sent: list  # [client], in the form of the server's model
    weights: list | None  # as clients claim them
    counters: list  # [client] of the buffer in a mapping
    rows: np.ndarray  # (n, dim): what a rule should see, in the type it works in
    usable: np.ndarray  # (n,): whose rows a rule should see at all

    @property
    def limits(self):
        """The largest number of each coordinate's type."""
        return self.spread("max")

    def spread(self, what):
        """Return a property of each coordinate's type."""
        sizes = [math.prod(shape) for shape in self.shapes]
        found = [float(getattr(ml_dtypes.finfo(kind), what)) for kind in self.types]
        return np.repeat(found, sizes)

    def formed(self, layers, counter=COUNTED):
        """Return layers in the form in which the server holds its model."""
        if self.kind == "array":
            return layers[0]
        if self.kind == "layers":
            return list(layers)
        named = {f"l{number}.weight": layer for number, layer in enumerate(layers)}
        named[COUNTER] = np.array(counter)
        return named if self.kind == "mapping" else {"net": named}

    def leaves(self, model):
        """Return the layers of a model in that form, and its counter."""
        if self.kind == "array":
            return [model], None
        if self.kind == "layers":
            return list(model), None
        named = dict(model if self.kind == "mapping" else model["net"])
        counter = named.pop(COUNTER)
        return list(named.values()), int(counter)


def some_round(rng):
    """Return a round, of which most are small and a few have several cells of coordinates."""
    kind = pick(rng, ["array", "layers", "mapping", "nested"])
    n = int(rng.integers(1, 41) if rng.random() < 0.7 else rng.integers(1, 8))
    shapes, n = some_shapes(rng, kind, n)
    own = [TYPES[pick(rng, [*TYPES])]] * len(shapes)
    types = own if rng.random() < 0.7 else [TYPES[pick(rng, [*TYPES])] for _ in shapes]
    wide = np.float64 if np.dtype(np.float64) in types else np.float32
    scale = 10.0 ** rng.integers(-5, 3)
    base = [np.asarray(rng.normal(0, 10 * scale, s), t) for s, t in zip(shapes, types, strict=True)]
    is_model = bool(rng.random() < 0.5)
    updates = some_updates(rng, n, sum(math.prod(shape) for shape in shapes), scale)
    values = [split(row, shapes) for row in updates]
    with np.errstate(all="ignore"):
        sent = [
            [np.asarray(v + b.astype(float) * is_model, t) for v, b, t in zip(row, base, types, strict=True)]
            for row in values
        ]
    usable = np.ones(n, dtype=bool)
    for client in rng.choice(n, int(rng.integers(0, 1 + n // 2)), replace=False):
        sent[client] = some_attack(rng, sent[client], sent[(client + 1) % n])
    is_named = bool(rng.random() < 0.5)
    made = Round(kind, shapes, types, base, is_model, is_named, [], None, [], np.zeros(0), usable)
    made.rows = np.stack([seen(layers, base, wide, is_model) for layers in sent])
    usable &= (np.abs(made.rows) <= made.limits).all(axis=1)
    claim(rng, made, n)
    for client, layers in enumerate(sent):
        counter = made.counters[client] if is_model else made.counters[client] - COUNTED
        made.sent.append(made.formed([in_memory(rng, layer) for layer in layers], counter))
        if rng.random() < 0.03:
            made.sent[client], usable[client] = nonsense(rng, made, client), False
    return made


def some_shapes(rng, kind, n):
    if rng.random() < 0.02:  # several cells: threads and tasks come in
        n, dim = min(n, 6), int(pick(rng, [32_768, 65_537, 100_001]))
    else:
        dim = int(2 ** rng.uniform(0, 11.5)) if rng.random() < 0.99 else 0
    if kind == "array":
        return [pick(rng, [(dim,), (1, dim), (dim, 1, 1)])], n
    shapes = [pick(rng, [(), (1,), (0, 4), (3, 1, 2), (5,), (2, 7)]) for _ in range(rng.integers(0, 5))]
    return [*shapes, pick(rng, [(dim,), (dim, 1), (2, dim // 2)])], n


def some_updates(rng, n, dim, scale):
    """Return (n, dim) float64: clients who agree by and large, with ties, zeros and copies here and there."""
    updates = scale * (rng.normal(0.3, 1, dim) + rng.normal(0, 10.0 ** rng.integers(-3, 2), (n, dim)))
    if rng.random() < 0.3:
        updates = np.round(updates / scale * 2) / 2 * scale
    if rng.random() < 0.3:
        updates[rng.random((n, dim)) < rng.random()] = 0
    if rng.random() < 0.2:
        updates[rng.integers(n, size=n // 2)] = updates[rng.integers(n)]
    return updates


def split(row, shapes):
    ends = np.cumsum([math.prod(shape) for shape in shapes])[:-1]
    return [part.reshape(shape) for part, shape in zip(np.split(row, ends), shapes, strict=True)]


def some_attack(rng, own, other):
    """Return what a hostile client sends: numbers of the right shape."""
    kind = pick(rng, ["one", "all", "huge", "tiny", "zero", "copy", "wider", "turned"])
    with np.errstate(all="ignore"):
        if kind == "one":
            layers = [layer.copy() for layer in own]
            flat = pick(rng, layers).reshape(-1)
            flat[rng.integers(max(flat.size, 1)) :][:1] = pick(rng, [np.nan, np.inf, -np.inf])
            return layers
        if kind == "all":
            return [np.full_like(layer, pick(rng, [np.nan, np.inf, -np.inf])) for layer in own]
        if kind in ("huge", "tiny"):
            what = {"huge": "max", "tiny": "smallest_subnormal"}[kind]
            size = [getattr(ml_dtypes.finfo(layer.dtype), what) for layer in own]
            share = rng.choice([1.0, 0.9, 0.01]) if kind == "huge" else rng.integers(1, 9)
            signs = [rng.choice([-1, 1], layer.shape) * share for layer in own]
            return [
                np.asarray(float(s) * x, layer.dtype) for s, x, layer in zip(size, signs, own, strict=True)
            ]
        if kind == "wider":
            size = pick(rng, [-300, -200, -100, -30, -8, 3, 30, 100, 200, 300])
            return [np.asarray(layer, np.float64) * 10.0**size for layer in own]
        if kind == "turned":
            return [-(10.0 ** rng.integers(0, 4)) * layer.astype(float) for layer in own]
    return [np.zeros_like(layer) for layer in own] if kind == "zero" else [layer.copy() for layer in other]


def seen(layers, base, wide, is_model):
    """Return one row as a rule should see it."""
    with np.errstate(all="ignore"):
        parts = [
            layer.astype(wide).reshape(-1) - (own.astype(wide).reshape(-1) if is_model else wide(0))
            for layer, own in zip(layers, base, strict=True)
        ]
    return np.concatenate(parts)


def claim(rng, made, n):
    """Make up sample counts and counters, some of them impossible."""
    made.counters = [int(count) for count in rng.integers(0, 99, n)]
    if rng.random() < 0.5:
        made.weights = [int(count) for count in rng.integers(0, 200, n)]
        for client in range(n):
            if rng.random() < 0.2:
                made.weights[client] = pick(rng, COUNTS)
        possible = [isinstance(w, int | float) and 0 <= w <= 10**8 for w in made.weights]
        made.usable &= np.array(possible)
    if made.kind in ("mapping", "nested") and rng.random() < 0.2:
        client = int(rng.integers(n))
        made.counters[client], made.usable[client] = -3, False


def in_memory(rng, layer):
    """Return the same numbers, laid out otherwise in memory."""
    kind = pick(rng, ["as it is", "fortran", "strided", "backwards", "swapped", "read only"])
    if kind == "fortran":
        return np.asfortranarray(layer) if layer.ndim else layer
    if kind == "strided" and layer.ndim:
        room = np.zeros((*layer.shape[:-1], 3 * layer.shape[-1]), layer.dtype)
        room[..., ::3] = layer
        return room[..., ::3]
    if kind == "backwards" and layer.ndim:
        return np.ascontiguousarray(layer[::-1])[::-1]
    if kind == "swapped" and layer.dtype != TYPES["bfloat16"]:
        return layer.astype(layer.dtype.newbyteorder(">"))
    layer = np.array(layer)
    layer.flags.writeable = kind != "read only"
    return layer


def nonsense(rng, made, client):
    """Return what cannot be read as a model of the server's form."""
    layers, _ = made.leaves(made.sent[client])
    broken = [*layers]
    broken[int(rng.integers(len(layers)))] = pick(rng, NONSENSE)
    return pick(rng, [*NONSENSE[:6], layers + layers, made.formed(broken)])
