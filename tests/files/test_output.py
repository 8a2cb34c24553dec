import ml_dtypes
import numpy as np
import pytest

from holdfast import fedavg, median
from holdfast.errors import DataError
from holdfast.files import aggregate_files, load_tensors, save_tensors
from holdfast.updates.layout import narrowed

from .rounds import SHAPES, assert_same, in_memory, sharded, some_models, write_round


def test_the_output_has_the_bases_header_metadata_included(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    save_tensors(at, base, metadata={"format": "pt", "made by": "a trainer"})
    aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    length = 8 + int.from_bytes(at.read_bytes()[:8], "little")
    assert (tmp_path / "next.safetensors").read_bytes()[:length] == at.read_bytes()[:length]


def test_the_reference_library_reads_the_output_and_agrees(tmp_path):
    numpy_files = pytest.importorskip("safetensors.numpy", reason="the reference library is not installed")
    base, models = some_models(3)
    _, clients = write_round(tmp_path, base, models)
    at = tmp_path / "theirs.safetensors"
    numpy_files.save_file(base, at, metadata={"format": "np"})
    for path, model in zip(clients, models, strict=True):
        numpy_files.save_file(model, path)
    aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    theirs, ours = (
        numpy_files.load_file(tmp_path / "next.safetensors"),
        load_tensors(tmp_path / "next.safetensors"),
    )
    order = list(ours)
    expected, _ = in_memory({n: base[n] for n in order}, [{n: m[n] for n in order} for m in models], median)
    for name in base:
        np.testing.assert_array_equal(theirs[name], ours[name])
        np.testing.assert_array_equal(theirs[name], expected[name])


def test_brain_floats_and_mixed_types_are_summed_as_in_memory(tmp_path):
    base, models = some_models(7)
    types = dict(
        zip(SHAPES, [ml_dtypes.bfloat16, np.float32, np.float16, np.float32, ml_dtypes.bfloat16], strict=True)
    )
    base = {name: x.astype(types[name]) for name, x in base.items()}
    models = [{name: x.astype(types[name]) for name, x in model.items()} for model in models]
    models[1] = {name: x.astype(np.float32) for name, x in models[1].items()}  # a client of another precision
    at, clients = write_round(tmp_path, base, models)
    for rule in (median, fedavg):
        aggregate_files(clients, rule, base=at, out=tmp_path / "next.safetensors")
        expected, _ = in_memory(base, models, rule)
        assert_same(tmp_path / "next.safetensors", expected)


def test_rounding_to_brain_floats_is_that_of_ml_dtypes():
    values = np.random.default_rng(0).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    values = np.concatenate(
        [values[np.isfinite(values)], np.float32([0.0, -0.0, np.inf, 3.4e38, 1.00390625])]
    )
    with np.errstate(all="ignore"):
        expected = values.astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(narrowed(values, "bfloat16"), expected)


def test_a_sharded_base_gives_a_sharded_output_and_clients_may_be_sharded_otherwise(tmp_path):
    base, models = some_models(3)
    _, clients = write_round(tmp_path, base, models)
    at = sharded(tmp_path / "base", base)
    clients[1] = sharded(tmp_path / "clients" / "other", models[1])
    clients[2] = sharded(tmp_path / "clients" / "third", models[2]) / "model.safetensors.index.json"
    for _ in range(2):  # the second time, it replaces the first
        said = aggregate_files(clients, median, base=at, out=tmp_path / "next")
    assert said.diagnostics.clients == ("c00", "other", "model")
    expected, _ = in_memory(base, models, median)
    assert_same(tmp_path / "next", expected)
    assert sorted(path.name for path in (tmp_path / "next").iterdir()) == sorted(p.name for p in at.iterdir())
    index = "model.safetensors.index.json"
    assert (tmp_path / "next" / index).read_bytes() == (at / index).read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["base", "base.safetensors", "clients", "next"]


def test_an_output_that_cannot_be_is_an_error_before_any_work(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    with pytest.raises(DataError, match="there is no folder"):
        aggregate_files(clients, median, base=at, out=tmp_path / "nowhere" / "next.safetensors")
    with pytest.raises(DataError, match="must be a file"):
        aggregate_files(clients, median, base=at, out=tmp_path / "clients")
    at = sharded(tmp_path / "base", base)
    (tmp_path / "taken").touch()
    with pytest.raises(DataError, match="must be a folder"):
        aggregate_files(clients, median, base=at, out=tmp_path / "taken")
    with pytest.raises(DataError, match=r"also holds c00.safetensors: choose another"):
        aggregate_files(clients, median, base=at, out=tmp_path / "clients")


def test_the_output_may_be_the_base_itself(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    aggregate_files(clients, median, base=at, out=at)
    assert_same(at, in_memory(base, models, median)[0])


def test_a_model_that_would_be_infinite_is_not_written(tmp_path):
    base, models = {"w": np.full(3, 6e4, np.float16)}, [{"w": np.full(3, 6e4, np.float16)}] * 3
    updates = [{"w": np.full(3, 3e4, np.float16)}] * 3
    at, clients = write_round(tmp_path, base, updates)
    said = aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors", are_updates=True)
    assert not said.diagnostics.aggregated
    assert said.diagnostics.notes[0] == "the next model would not be finite"
    assert_same(tmp_path / "next.safetensors", base)
    assert models
