"""Files and folders that no client should leave: each is dropped with a reason, or read as it stands."""

import json
import os

import numpy as np
import safetensors

from holdfast import fedavg, invariant, krum, median, sparsefed
from holdfast.files import aggregate_files, load_tensors, save_tensors

from ..files.hostile import HOSTILE, all_given, index_of
from ..files.rounds import assert_same, in_memory, some_models, write_round
from .damage import cut, flipped, mutated, overwritten
from .rounds import pick

SHAPES = {"a.weight": (3, 100), "empty": (0, 4), "b.weight": (777,), "b.bias": (11,), "scale": ()}
TYPES = {"F16": np.float16, "F32": np.float32, "F64": np.float64}
RULES = [fedavg, median, invariant(alpha=0.25), krum(n_malicious=1), sparsefed(kept=0.1)]


def attack(rng, folder):
    """Aggregate a round in which some clients left something else than their model."""
    base, models = some_models(int(rng.integers(4, 8)), shapes=SHAPES, seed=int(rng.integers(1000)))
    at, clients = write_round(folder, base, models)
    out, rule = folder / "next.safetensors", pick(rng, RULES)
    save_tensors(out, {"old": np.ones(3)})
    for client in rng.choice(len(clients), int(rng.integers(1, 1 + len(clients) // 2)), replace=False):
        pick(rng, [vandalise, vandalise, vandalise, fold, fold, plant])(rng, clients[client])
    held = {path.name.removesuffix(".safetensors"): as_it_stands(path) for path in clients}
    clients = all_given(clients)
    held |= {path.name.split(".")[0]: None for path in clients[len(held) :]}  # two files of one name

    state = folder / "state.safetensors" if rule.needs("state") else None
    said = aggregate_files(clients, rule, base=at, out=out, state=state)
    dropped = {drop.client: drop.reason for drop in said.diagnostics.dropped}
    assert str(said).replace("\n", "").isprintable()
    assert all(0 < len(reason) < 300 for reason in dropped.values())
    left = [held[name] for name in held if name not in dropped]
    assert None not in left, "what nobody can read was read"
    if said.diagnostics.aggregated:  # otherwise nobody has looked at the numbers
        assert all(fits(model, base) for model in left), "what does not fit was used"
    lost = [name for name in dropped if held[name] is not None and fits(held[name], base)]
    assert not lost, f"a file that can be read was not: {[(name, dropped[name]) for name in lost]}"
    if said.diagnostics.aggregated:
        assert_same(out, in_memory(base, left, rule)[0])
    else:
        assert_same(out, load_tensors(at))
    expected = {"base.safetensors", "clients", "next.safetensors", *([state.name] if state else [])}
    assert {path.name for path in folder.iterdir()} <= expected
    return "dropped" if dropped else "read"


def vandalise(rng, path):
    """Damage the bytes of the file, most often those of its header."""
    raw = path.read_bytes()
    end = 8 + int.from_bytes(raw[:8], "little")
    kind = rng.integers(4)
    if kind == 0:
        path.write_bytes(pick(rng, [flipped, cut, overwritten])(rng, raw))
    elif kind == 1:
        path.write_bytes(raw[:end] + flipped(rng, raw[end:]))
    else:
        header = mutated(rng, raw[8:end])
        size = len(header) if rng.random() < 0.8 else int(rng.integers(0, 2 * len(header) + 1))
        path.write_bytes(size.to_bytes(8, "little") + header + raw[end:])


def fold(rng, path):
    """Put a folder with an index in its place, which is damaged half of the time."""
    names = [*SHAPES]
    places = dict.fromkeys(names, "model-1.safetensors")
    if rng.random() < 0.5:
        places[pick(rng, names)] = pick(
            rng, ["", "..", "model-1", "/etc/passwd", "a\0b", "\ud800", 3, None, "x" * 300]
        )
    index_of(path, places)
    if rng.random() < 0.5:
        index = path / "model.safetensors.index.json"
        index.write_bytes(mutated(rng, index.read_bytes()))


def plant(rng, path):
    """Leave one of the things that were thought of."""
    HOSTILE[pick(rng, [*HOSTILE])](path)


def as_it_stands(path):
    """Return the arrays as the reference library reads them, or None if nobody should read this."""
    if path.is_symlink() or not path.exists():
        return None
    if path.is_dir():
        return in_folder(path)
    if not path.is_file() or path.stat().st_size > 10**6:
        return None
    raw = path.read_bytes()
    try:
        found = safetensors.deserialize(raw)
        header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")], object_pairs_hook=once)
        header.pop("__metadata__", None)
        assert all(
            set(one) == {"dtype", "shape", "data_offsets"} for one in header.values()
        )  # the library is laxer
        return {
            name: np.frombuffer(one["data"], TYPES[one["dtype"]]).reshape(one["shape"]) for name, one in found
        }
    except (safetensors.SafetensorError, KeyError, ValueError, AssertionError):
        return None


def in_folder(path):
    """Return the same of a folder whose index names each tensor's file, in the folder itself."""
    try:
        (index,) = path.glob("*.index.json")
        places = json.loads(index.read_bytes(), object_pairs_hook=once)["weight_map"]
        (file,) = set(places.values())
        assert isinstance(file, str)
        assert os.path.basename(file) == file
        model = None if (path / file).is_symlink() else as_it_stands(path / file)
        return model if model is not None and set(model) == set(places) else None
    except (ValueError, TypeError, KeyError, AttributeError, AssertionError, RecursionError, OSError):
        return None


def once(pairs):
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key twice")
    return dict(pairs)


def fits(model, base):
    """Return whether a model can be used at all: names, shapes, and numbers that float32 can hold."""
    if set(model) != set(base) or any(model[name].shape != base[name].shape for name in base):
        return False
    with np.errstate(all="ignore"):
        return all(
            (np.abs(model[name].astype(np.float32) - base[name]) <= np.finfo(np.float32).max).all()
            for name in base
        )
