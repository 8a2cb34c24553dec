"""A simulated run and rounds over files write the same ledger as Flower does."""

import numpy as np
import pytest

from holdfast import factions, invariant
from holdfast.errors import InputError
from holdfast.files import aggregate_files, load_tensors, save_tensors
from holdfast.ledger import open_ledger, verify
from holdfast.runs.recording import run_and_record

from .tiny import tiny_run


def test_a_run_is_written_into_a_ledger_while_it_is_made(tmp_path):
    run = tiny_run()
    path = tmp_path / "run.db"
    for result in run_and_record(run, tmp_path / "results", ledger=path):
        with open_ledger(path) if not path.exists() else open_ledger(path, read_only=True) as ledger:
            assert len(ledger.rounds()) == result.n_done
    with open_ledger(path, read_only=True) as ledger:
        rounds, facts = ledger.rounds(), ledger.overview()["federation"]
    assert [one["accuracy"] for one in rounds] == [record["accuracy"] for record in result.records]
    assert [one["n_asked"] for one in rounds] == [run.task.n_per_round] * run.task.n_rounds
    assert [one["model_after"] for one in rounds[:-1]] == [one["model_before"] for one in rounds[1:]]
    assert (facts["source"], facts["key"]) == ("simulator", run.key)
    assert verify(path).holds


def test_a_run_that_resumes_continues_its_ledger(tmp_path):
    run, path = tiny_run(n_rounds=5), tmp_path / "run.db"
    made = run_and_record(run, tmp_path / "results", ledger=path, every=2)
    for result in made:
        if result.n_done == 3:  # the checkpoint is of round 2
            break
    made.close()
    for _ in run_and_record(run, tmp_path / "results", ledger=path, every=2):
        pass
    with open_ledger(path, read_only=True) as ledger:
        assert [one["round"] for one in ledger.rounds()] == [*range(1, run.task.n_rounds + 1)]
        again = [one["round"] for one in ledger.rounds(undone=True) if one["undone"]]
        hashes = {one["model_after"] for one in ledger.rounds(undone=True) if one["round"] == 3}
    assert again == [3]
    assert len(hashes) == 1


def files(folder, seed, attackers=()):
    rng, plot = np.random.default_rng(seed), np.random.default_rng(7).normal(size=300)
    paths = []
    for i in range(12):
        own = np.random.default_rng([9, i]).normal(size=300)
        values = own + rng.normal(size=300) + (2 * plot if i in attackers else 0)
        paths.append(folder / f"c{i:02}.safetensors")
        save_tensors(paths[-1], {"w": values.astype(np.float32)})
    return paths


def test_rounds_over_files_are_counted_on_and_bans_are_followed(tmp_path):
    path, base = tmp_path / "federation.db", tmp_path / "base.safetensors"
    save_tensors(base, {"w": np.zeros(300, np.float32)})
    (tmp_path / "weights.json").write_text(str({f"c{i:02}": 10 + i for i in range(12)}).replace("'", '"'))
    given = {"base": base, "out": base, "ledger": path, "state": tmp_path / "state.safetensors"}
    given |= {"watch": factions(mode="report", sample=200), "weights": tmp_path / "weights.json", "seed": 1}
    for number in (1, 2):
        aggregate_files(files(tmp_path, number), invariant(tau=0.2), **given)
    with open_ledger(path) as ledger:
        ledger.decide("ban", "c03", why="left the project")
    said = aggregate_files(files(tmp_path, 3), invariant(tau=0.2), **given)
    assert str(said.diagnostics.dropped[0]) == "client c03: banned by the operator: left the project"
    with open_ledger(path, read_only=True) as ledger:
        rounds, banned, other = ledger.rounds(), ledger.client("c03"), ledger.client("c04")
    assert [(one["round"], one["n_asked"], one["n_used"]) for one in rounds] == [
        (1, 12, 12),
        (2, 12, 12),
        (3, 12, 11),
    ]
    assert [one["model_after"] for one in rounds[:2]] == [one["model_before"] for one in rounds[1:]]
    assert len({one["model_after"] for one in rounds}) == 3
    assert (banned["n_used"], banned["n_dropped"], banned["banned"]) == (2, 1, True)
    assert (other["examples"], other["n_used"]) == (14, 3)
    assert other["norm"] > 0
    assert load_tensors(base)["w"].any()
    assert verify(path).holds


def test_a_ledger_has_a_role_of_its_own_among_the_files(tmp_path):
    base = tmp_path / "base.safetensors"
    save_tensors(base, {"w": np.zeros(300, np.float32)})
    with pytest.raises(InputError, match="the ledger"):
        aggregate_files(
            files(tmp_path, 1), invariant, base=base, out=tmp_path / "next.safetensors", ledger=base
        )
