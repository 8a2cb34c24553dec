import json
import shutil

import ml_dtypes
import numpy as np
import pytest

from holdfast import aggregators as a
from holdfast import defend, invariant, median
from holdfast.errors import DataError, InputError
from holdfast.files import aggregate_files, load_tensors, save_tensors

from ..rules import RULES, named
from .rounds import assert_same, drawn, in_memory, sharded, some_models, write_round


def given_for(rule, folder, base, seed=5):
    """What a rule needs beside the clients: for the files, and for memory."""
    files, memory = {"seed": seed}, {"rng": drawn(seed, folder / "base.safetensors")}
    if rule.needs("reference"):
        own = some_models(1, seed=9, dtype=next(iter(base.values())).dtype)[1][0]
        save_tensors(folder / "own.safetensors", own)
        files["reference"], memory["reference"] = folder / "own.safetensors", own
    if rule.needs("state") or rule.needs("previous"):
        files["state"] = folder / "state.safetensors"
    return files, memory


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("rule", RULES, ids=named)
def test_files_give_the_bits_of_the_call_in_memory(rule, dtype, tmp_path):
    base, models = some_models(dtype=dtype)
    at, clients = write_round(tmp_path, base, models)
    files, memory = given_for(rule, tmp_path, base)
    said = aggregate_files(clients, rule, base=at, out=tmp_path / "next.safetensors", explain=True, **files)
    expected, result = in_memory(
        base, models, rule, explain=True, clients=[path.stem for path in clients], **memory
    )
    assert_same(tmp_path / "next.safetensors", expected)
    assert said.as_dict() == {"diagnostics": result.diagnostics.as_dict()}


def test_noise_is_another_in_every_round_and_the_same_when_a_round_is_repeated(tmp_path):
    base, _ = some_models(1)
    at, clients = write_round(tmp_path, base, [base] * 4)
    models = [base]
    for number in (1, 2, 2):
        out = tmp_path / f"next{number}.safetensors"
        before = at if number == 1 else tmp_path / "next1.safetensors"
        aggregate_files(clients, a.weak_dp(sigma=0.1), base=before, out=out, seed=5, are_updates=True)
        models.append(load_tensors(out))
    first, second = (
        {name: x - models[number][name] for name, x in models[number + 1].items()} for number in (0, 1)
    )
    assert not np.allclose(first["b.weight"], second["b.weight"], atol=1e-3)
    assert all(models[2][name].tobytes() == x.tobytes() for name, x in models[3].items())


def test_noise_does_not_depend_on_how_the_base_is_cut_into_files(tmp_path):
    base, models = some_models(4)
    at, _ = write_round(tmp_path, base, models)
    whole, cut = (drawn(5, path).random() for path in (at, sharded(tmp_path / "cut", base)))
    assert whole == cut
    assert drawn(6, at).random() != whole


def test_a_rule_remembers_through_its_state_file(tmp_path):
    rule = a.sparsefed(kept=0.3)
    base, models = some_models()
    at, clients = write_round(tmp_path, base, models)
    state = None
    for _ in range(3):
        aggregate_files(clients, rule, base=at, out=at, state=tmp_path / "state.safetensors")
        base, result = in_memory(base, models, rule, state=state)
        state = result.state
        assert_same(at, base)
    stored = load_tensors(tmp_path / "state.safetensors")
    np.testing.assert_array_equal(stored["state.error"], state.rule.error)
    np.testing.assert_array_equal(stored["state.norms"], state.rule.norms)


def test_the_last_update_is_remembered_for_the_rule_that_asks_for_it(tmp_path):
    rule = a.centered_clipping(radius=0.5)
    base, models = some_models()
    at, clients = write_round(tmp_path, base, models)
    state = None
    for _ in range(3):
        aggregate_files(clients, rule, base=at, out=at, state=tmp_path / "state.safetensors")
        base, result = in_memory(base, models, rule, state=state)
        state = result.state
        assert_same(at, base)


def test_a_round_that_is_skipped_leaves_the_memory_as_it_was(tmp_path):
    base, models = some_models()
    at, clients = write_round(tmp_path, base, models)
    files = {"base": at, "out": tmp_path / "next.safetensors", "state": tmp_path / "state.safetensors"}
    aggregate_files(clients, a.centered_clipping, **files)
    before = files["state"].read_bytes()
    assert not aggregate_files([tmp_path / "nobody"], a.centered_clipping, **files).diagnostics.aggregated
    assert files["state"].read_bytes() == before


def test_another_rule_starts_its_state_anew_and_says_so(tmp_path, caplog):
    base, models = some_models()
    at, clients = write_round(tmp_path, base, models)
    files = {"base": at, "out": tmp_path / "next.safetensors", "state": tmp_path / "state.safetensors"}
    aggregate_files(clients, a.sparsefed, **files)
    aggregate_files(clients, a.centered_clipping, **files)
    assert_same(files["out"], in_memory(base, models, a.centered_clipping)[0])
    said = f"{files['state']} was made with sparsefed; the state of centered_clipping starts anew"
    assert [record.message for record in caplog.records if "anew" in record.message] == [said]


def test_what_is_no_state_or_a_damaged_one_is_an_error(tmp_path):
    base, models = some_models()
    at, clients = write_round(tmp_path, base, models)
    files = {"base": at, "out": tmp_path / "next.safetensors", "state": tmp_path / "state.safetensors"}
    aggregate_files(clients, a.sparsefed, **files)
    other = shutil.copy(clients[0], tmp_path / "other")
    with pytest.raises(DataError, match=r"the state, .*other, is another safetensors file"):
        aggregate_files(clients, a.sparsefed, **{**files, "state": other})
    raw = files["state"].read_bytes()
    files["state"].write_bytes(raw[:-3])
    with pytest.raises(DataError, match=r"the state, .* has .* bytes, but its header describes"):
        aggregate_files(clients, a.sparsefed, **files)
    save_tensors(
        files["state"], {"state.error": np.ones(2)}, metadata={"holdfast": "state", "rule": "sparsefed"}
    )
    with pytest.raises(DataError, match="does not fit"):
        aggregate_files(clients, a.sparsefed, **files)


def test_what_a_rule_cannot_do_without_is_asked_for(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    files = {"base": at, "out": tmp_path / "next.safetensors"}
    with pytest.raises(InputError, match="fltrust needs a reference"):
        aggregate_files(clients, a.fltrust, **files)
    with pytest.raises(InputError, match=r"sparsefed keeps a state between rounds: name a file .*--state"):
        aggregate_files(clients, a.sparsefed, **files)
    with pytest.raises(InputError, match="centered_clipping keeps the last update between rounds: name a"):
        aggregate_files(clients, a.centered_clipping, **files)
    with pytest.raises(InputError, match="at least one client's file"):
        aggregate_files([], median, **files)
    with pytest.raises(InputError, match="is given twice"):
        aggregate_files([clients[0], clients[0]], median, **files)
    save_tensors(tmp_path / "own.safetensors", {"w": np.ones(2)})
    with pytest.raises(DataError, match=r"the reference, .* does not fit the base: lacks"):
        aggregate_files(clients, a.fltrust, reference=tmp_path / "own.safetensors", **files)


def test_sample_counts_weigh_as_in_memory_capped_and_an_impossible_one_drops_its_client(tmp_path):
    base, models = some_models(4)
    at, clients = write_round(tmp_path, base, models)
    counts = {"c00": 10, "c01": 30, "c02": 10**8, "c03": 10**12}
    (tmp_path / "counts.json").write_text(json.dumps(counts))
    files = {"base": at, "out": tmp_path / "next.safetensors", "weights": tmp_path / "counts.json"}
    said = aggregate_files(clients, a.fedavg, **files)
    assert "impossible sample count" in said.diagnostics.dropped[0].reason
    assert (
        "count as 300: of client c02; no client counts for more than 10 times" in said.diagnostics.notes[-1]
    )
    expected, _ = in_memory(base, models, a.fedavg, weights=list(counts.values()))
    assert_same(tmp_path / "next.safetensors", expected)
    for content, match in (
        ("{}", "has no count for 'c00' and 3 more"),
        ("[1]", "one JSON object"),
        ("{", "has content that is not JSON"),
        ('{"c00": 1, "c00": 2}', "has content that is not JSON: it says something twice"),
    ):
        (tmp_path / "counts.json").write_text(content)
        with pytest.raises(DataError, match=match):
            aggregate_files(clients, a.fedavg, **files)


def test_updates_are_added_to_the_base(tmp_path):
    base, models = some_models(5)
    updates = [{name: 0.01 * x for name, x in model.items()} for model in models]
    at, clients = write_round(tmp_path, base, updates)
    aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors", are_updates=True)
    assert_same(tmp_path / "next.safetensors", defend(updates, median, like=base).model)


def test_adapters_alone_are_aggregated_and_the_rest_of_the_base_stays(tmp_path):
    base, models = some_models(5, shapes={"w": (50, 40), "w.lora_A": (4, 40), "w.lora_B": (50, 4)})
    adapters = [{name: x for name, x in model.items() if "lora" in name} for model in models]
    at, clients = write_round(tmp_path, base, adapters)
    said = aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors", only=("*lora*",))
    assert not said.diagnostics.dropped
    own = {name: x for name, x in base.items() if "lora" in name}
    expected, _ = in_memory(own, adapters, median)
    assert_same(tmp_path / "next.safetensors", {"w": base["w"], **expected})
    said = aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    assert "lacks 'w'" in said.diagnostics.dropped[0].reason
    with pytest.raises(DataError, match=r"no tensors of floats named \*adapter\*"):
        aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors", only=("*adapter*",))


def with_buffers(base, models):
    for number, model in enumerate([base, *models]):
        model["bn.running_mean"] = np.float32([number, 2.0 * number])
        model["bn.num_batches_tracked"] = np.array(10 * number)
    return base, models


@pytest.mark.parametrize("rule", [a.fedavg, invariant], ids=named)
@pytest.mark.parametrize("are_updates", [False, True])
def test_buffers_are_those_of_the_call_in_memory(rule, are_updates, tmp_path):
    base, models = with_buffers(*some_models(5))
    at, clients = write_round(tmp_path, base, models)
    out = tmp_path / "next.safetensors"
    said = aggregate_files(clients, rule, base=at, out=out, are_updates=are_updates)
    assert not said.diagnostics.dropped
    assert_same(out, defend(models, rule, **{"like" if are_updates else "base": base}).model)


def test_a_client_with_impossible_buffers_is_dropped(tmp_path):
    base, models = with_buffers(*some_models(5))
    models[4]["bn.num_batches_tracked"] = np.array(-1)
    at, clients = write_round(tmp_path, base, models)
    said = aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    assert [str(drop) for drop in said.diagnostics.dropped] == [
        "client c04: 'bn.num_batches_tracked' holds negative values"
    ]
    assert_same(tmp_path / "next.safetensors", in_memory(base, models[:4], median)[0])


def test_a_buffer_of_brain_floats_stays_one_and_finite(tmp_path):
    base, models = some_models(3)
    largest = np.float32(3.4e38)  # which rounds to infinity in bfloat16
    for model in (base, *models):
        model["bn.running_mean"] = np.array([1.0, 2.0]).astype(ml_dtypes.bfloat16)
    for model in models:
        model["bn.running_mean"] = np.array([1.5, largest], np.float32)
    at, clients = write_round(tmp_path, base, models)
    aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    got = load_tensors(tmp_path / "next.safetensors")["bn.running_mean"].view(ml_dtypes.bfloat16)
    assert got.tolist() == [1.5, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)]


def test_a_base_that_is_not_finite_or_holds_no_floats_is_an_error(tmp_path):
    base, models = some_models(3)
    at, clients = write_round(tmp_path, base, models)
    base["b.weight"][5] = np.inf
    save_tensors(at, base)
    with pytest.raises(DataError, match=r"the base, .* holds NaN or infinite values"):
        aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    save_tensors(at, {"steps": np.arange(3)})
    with pytest.raises(DataError, match="nothing to aggregate"):
        aggregate_files(clients, median, base=at, out=tmp_path / "next.safetensors")
    with pytest.raises(DataError, match="cannot be opened: No such file"):
        aggregate_files(clients, median, base=tmp_path / "none", out=tmp_path / "next.safetensors")
    assert not (tmp_path / "next.safetensors").exists()


def test_buffers_that_do_not_fit_into_memory_are_an_error_that_says_what_is_needed(tmp_path):
    base = {"w": np.ones(3, np.float32), "table": np.zeros(40_000_000, np.uint8)}
    at, clients = write_round(tmp_path, base, [base, base])
    with pytest.raises(InputError, match=r"the buffers of all clients take 80MB, .* allow at least \d+MB"):
        aggregate_files(clients, median, base=at, out=tmp_path / "next", memory="350MB")
