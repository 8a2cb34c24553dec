"""Rounds as files, and the same rounds in memory."""

import json

import numpy as np

from holdfast import defend
from holdfast.files import load_tensors, save_tensors
from holdfast.files.drawing import round_rng
from holdfast.files.opening import open_own
from holdfast.updates.rows import CELL

SHAPES = {"a.weight": (3, 100), "empty": (0, 4), "b.weight": (2 * CELL + 77,), "b.bias": (11,), "scale": ()}
N = 9


def some_models(n=N, dtype=np.float32, shapes=SHAPES, seed=0):
    """A base, and clients' models near it."""
    rng = np.random.default_rng(seed)
    base = {name: np.asarray(rng.normal(size=shape)).astype(dtype) for name, shape in shapes.items()}
    models = [
        {name: np.asarray(x + 0.1 * rng.normal(size=x.shape) + 0.02, x.dtype) for name, x in base.items()}
        for _ in range(n)
    ]
    return base, models


def write_round(folder, base, models):
    """Store them; return the base's path and the clients'."""
    (folder / "clients").mkdir(exist_ok=True)
    save_tensors(folder / "base.safetensors", base)
    paths = []
    for number, model in enumerate(models):
        paths.append(folder / "clients" / f"c{number:02}.safetensors")
        save_tensors(paths[-1], model)
    return folder / "base.safetensors", paths


def sharded(folder, model):
    """Store a model in two files with an index; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    halves = list(model.items())[:2], list(model.items())[2:]
    places = {}
    for number, half in enumerate(halves, start=1):
        file = f"model-{number:05}-of-00002.safetensors"
        save_tensors(folder / file, dict(half), metadata={"format": "pt", "half": str(number)})
        places |= {name: file for name, _ in half}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": places}))
    return folder


def in_memory(base, models, rule, **given):
    """The next model as `defend` makes it of arrays in memory."""
    if "reference" in given:
        given["reference"] = {name: difference(x, base[name]) for name, x in given["reference"].items()}
    result = defend(models, rule, base=base, **given)
    return result.model, result


def drawn(seed, base):
    """What a round over files draws from, given the path of its base."""
    return round_rng(seed, open_own(base, name="the base"))


def difference(new, old):
    wide = np.float64 if old.dtype == np.float64 else np.float32
    return new.astype(wide) - old.astype(wide)


def assert_same(path, expected):
    got = load_tensors(path)
    assert list(got) == list(expected)
    for name, values in expected.items():
        assert got[name].shape == values.shape
        assert got[name].tobytes() == np.ascontiguousarray(values).tobytes(), name
