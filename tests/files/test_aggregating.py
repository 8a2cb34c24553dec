import numpy as np
import pytest

from holdfast.files import aggregate_files, save_tensors

from ..rules import RULES, named
from .rounds import assert_same, in_memory, some_models, write_round


def given_for(rule, folder, base, seed=5):
    """What a rule needs beside the clients: for the files, and for memory."""
    files, memory = {"seed": seed}, {"rng": np.random.default_rng(seed)}
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
    assert said.as_dict() == result.diagnostics.as_dict()
