"""The models that a round is probed from: fresh, trained, warm, or from a file."""

import pickle
from functools import partial

import numpy as np
import pytest
import torch

from holdfast import fedavg
from holdfast.errors import DataError, InputError
from holdfast.lab.attacks import value_trigger
from holdfast.lab.models import mlp, resnet18
from holdfast.lab.scenario import Run
from holdfast.lab.simulation import fresh_state, simulate
from holdfast.lab.simulation.world import build_world
from holdfast.lab.training import sgd
from holdfast.paper.studies import rules_on_a_round
from holdfast.paper.studies.starts import AfterRounds, WarmStart, model_file
from holdfast.runs.checkpoints import save_checkpoint

from ...toy import TOY, TRIGGER, attack

RUN = Run(TOY, attack(value_trigger, features=(2,), value=TRIGGER), sampling="fixed")


def state(start, folder, run=RUN, said=None):
    return start.state(build_world(run, "cpu"), folder, (lambda text: None) if said is None else said.append)


def test_before_the_first_round_the_network_is_fresh(tmp_path):
    fresh = state(AfterRounds(0), tmp_path)
    np.testing.assert_array_equal(fresh.params, fresh_state(build_world(RUN, "cpu"), "cpu").params)
    assert not list(tmp_path.iterdir())


def test_after_some_rounds_it_is_that_of_the_ordinary_run_and_is_kept(tmp_path):
    said = []
    found = state(AfterRounds(2), tmp_path, said=said)
    assert said[-1] == "the model to start from: round 2 of 2"
    *_, (_, expected) = simulate(Run(TOY, RUN.attack).replace(n_rounds=2))
    np.testing.assert_array_equal(found.params, expected.params)
    assert found.round == 2
    assert found.previous is not None  # an attack may aim by it
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    np.testing.assert_array_equal(state(AfterRounds(2), tmp_path).params, found.params)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == files


def test_a_warm_start_is_trained_on_all_honest_examples_in_one_place(tmp_path):
    training = WarmStart(2.5).training(RUN)
    assert (training.task.n_rounds, training.task.n_per_round) == (3, 1)
    world = build_world(training, "cpu")
    assert world.n_held(0) == 180  # all but those of the server
    assert len(world.malicious) == 0
    n_steps = [len(world.shard(0, world.honest_examples(0, number), number).batches) for number in (1, 2, 3)]
    assert n_steps == [2, 2, 2]  # 5/6 of an epoch of three batches, each

    found = state(WarmStart(30), tmp_path)
    assert (found.round, found.previous) == (0, None)
    fresh, warm = (
        rules_on_a_round(RUN, tmp_path, rules=(fedavg,), start=start).accuracy
        for start in (AfterRounds(0), WarmStart(30))
    )
    assert warm > fresh + 0.1


def test_a_warm_start_is_the_same_whatever_the_attack():
    clean, attacked = (WarmStart(1).training(run) for run in (Run(TOY), RUN))
    assert clean.key == attacked.key
    assert clean.key != WarmStart(2).training(RUN).key


@pytest.mark.parametrize(
    "wrong", [lambda: AfterRounds(-1), lambda: WarmStart(0), lambda: WarmStart(float("nan"))]
)
def test_what_is_no_start_is_refused(wrong):
    with pytest.raises(InputError):
        wrong()


@pytest.mark.parametrize("kind", ["npz", "safetensors", "pt"])
@pytest.mark.parametrize("model", [partial(mlp, sizes=(4, 6, 2)), None], ids=["mlp", "buffers"])
def test_a_model_comes_from_a_file(tmp_path, kind, model):
    run = RUN.replace(model=model) if model else _with_buffers()
    world = build_world(run.replace(seed=5), "cpu")
    expected = fresh_state(world, "cpu")
    path = tmp_path / f"model.{kind}"
    if kind == "npz":
        save_checkpoint(path, run, expected)
    elif kind == "pt":
        torch.save(world.model.state_dict(), path)
    else:
        from safetensors.torch import save_file

        save_file(world.model.state_dict(), path)
    found = state(model_file(path), tmp_path, run)
    np.testing.assert_array_equal(found.params, expected.params)
    assert found.buffers.keys() == expected.buffers.keys()
    assert found.round == 0


def _with_buffers():
    def images():
        from holdfast.lab.data import Dataset

        x, y = np.zeros((40, 3, 32, 32), np.float32), np.arange(40) % 2
        return Dataset(x, y, x[:4], y[:4])

    task = {"data": images, "model": partial(resnet18, head=2, width=2), "train": sgd, "n_root": 2}
    return Run(TOY).replace(**task)


def test_a_file_is_known_by_its_bytes_not_by_its_path(tmp_path):
    paths = [tmp_path / name for name in ("one.npz", "two.npz", "other.npz")]
    for path, content in zip(paths, (b"same", b"same", b"another"), strict=True):
        path.write_bytes(content)
    one, two, other = map(model_file, paths)
    assert one == two != other
    assert repr(one) == repr(two)
    assert "one" not in repr(one)


def test_a_file_that_holds_another_model_or_code_is_refused(tmp_path):
    other = build_world(RUN.replace(model=partial(mlp, sizes=(4, 9, 2))), "cpu")
    torch.save(other.model.state_dict(), tmp_path / "other.pt")
    save_checkpoint(tmp_path / "other.npz", RUN, fresh_state(other, "cpu"))
    (tmp_path / "noise.npz").write_bytes(b"noise")
    (tmp_path / "code.pt").write_bytes(pickle.dumps(_Shouting()))
    for name in ("other.pt", "other.npz", "noise.npz", "code.pt"):
        with pytest.raises(DataError, match=name):
            state(model_file(tmp_path / name), tmp_path)
    with pytest.raises(DataError, match="no model at"):
        model_file(tmp_path / "absent.pt")


class _Shouting:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was run",))
