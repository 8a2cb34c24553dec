"""A client's name follows from its own path and the operator's choice, whatever others send."""

import json

import numpy as np
import pytest

from holdfast import factions, fedavg, median
from holdfast.errors import DataError, InputError
from holdfast.files import aggregate_files, save_tensors
from holdfast.files.naming import name_clients
from holdfast.ledger import open_ledger, verify

from .rounds import assert_same, in_memory, some_models
from .watched import N_ATTACKERS, N, a_base, write_watched

NAMES = ("ann", "bob", "cat", "dan", "eve")


@pytest.fixture
def federation(tmp_path):
    """Five clients' models in one folder, and everything else that a round needs."""
    base, models = some_models(5, shapes={"w": (40,)})
    (tmp_path / "in").mkdir()
    for name, model in zip(NAMES, models, strict=True):
        save_tensors(tmp_path / "in" / f"{name}.safetensors", model)
    save_tensors(tmp_path / "base.safetensors", base)
    files = {"base": tmp_path / "base.safetensors", "out": tmp_path / "next.safetensors"}
    return tmp_path / "in", files, base, dict(zip(NAMES, models, strict=True))


def listed(folder, pattern="*"):
    return sorted(folder.glob(pattern))


def dropped(said):
    return {drop.client: drop.reason for drop in said.diagnostics.dropped}


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("round7/ann.safetensors", "ann"),
        ("round8/ann.safetensors", "ann"),
        ("ann.safetensors.index.json", "ann"),
        ("ann.json", "ann"),
        ("in/ann", "ann"),
        ("in/ann/", "ann"),
        ("in/x/../ann.v2.safetensors", "ann.v2"),
        (".safetensors", ".safetensors"),
        (".json", ".json"),
        ("\x1b[2J", r"\x1b[2J"),
        (r"\x1b[2J", r"\\x1b[2J"),
        ("a\nclient b", r"a\nclient b"),
        ("\udcff", r"\udcff"),
        ("zoë", "zoë"),
        ("--rule", "--rule"),
        ("e" * 255, "e" * 255),
    ],
)
def test_a_client_is_named_by_its_file(path, name):
    assert [*name_clients([path]).by_client] == [name]
    others = ["other/ann.safetensors", "ann/ann", "bob", "bob.json", "in/x.json"]
    assert name in name_clients([*others, path]).by_client


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("in/ann/model.safetensors", "ann"),
        ("in/eve/ann.safetensors", "eve"),
        ("./in/eve/round7/ann/model.safetensors", "eve"),
        ("in/eve.json/model.safetensors", "eve.json"),
        ("in/eve", "eve"),
        ("in/eve.safetensors", "eve"),
        ("in/a\nb/x", r"a\nb"),
    ],
)
def test_a_client_is_named_by_its_folder_if_the_operator_says_so(path, name):
    for folder in ("in", "./in/", "out/../in"):
        assert [*name_clients([path], folder).by_client] == [name]


def test_a_mapping_names_clients_wherever_their_files_are():
    named = name_clients({"ann": "in/model.safetensors", "b\nb": "in/b/model.safetensors"})
    assert [*named.by_client] == ["ann", r"b\nb"]
    assert not named.notes


def test_of_two_files_of_one_name_both_are_left_out_and_all_others_keep_their_names(federation):
    folder, files, base, models = federation
    (folder / "eve.json").write_text("x")
    said = aggregate_files(listed(folder), median, **files)
    assert said.diagnostics.clients == NAMES[:4]
    reason = dropped(said)["eve"]
    assert [*dropped(said)] == ["eve"]
    assert str(folder / "eve.json")[-40:] in reason
    assert str(folder / "eve.safetensors")[-40:] in reason
    assert_same(files["out"], in_memory(base, [models[name] for name in NAMES[:4]], median)[0])


def test_clashing_paths_of_any_length_are_told_apart_in_the_reason(tmp_path):
    long = tmp_path / ("x" * 200)
    client = name_clients([long / "aa" / ("e" * 200), long / "bb" / ("e" * 200), tmp_path / "ann"])
    with pytest.raises(Exception, match="two files have this name") as clash:
        client.path_of("e" * 200)
    assert len(str(clash.value)) < 280
    assert client.path_of("ann") == tmp_path / "ann"


def test_a_banned_client_stays_banned_whatever_else_it_sends(federation):
    folder, files, _, _ = federation
    files["ledger"] = folder.parent / "federation.db"
    aggregate_files(listed(folder), fedavg, **files)
    with open_ledger(files["ledger"]) as ledger:
        ledger.decide("ban", "eve", why="votes with mallory")
        ledger.decide("pardon", "bob")
    for content in ("x", json.dumps({"weight_map": {"w": "ann.safetensors"}})):
        (folder / "eve.json").write_text(content)
        said = aggregate_files(listed(folder), fedavg, **files)
        assert said.diagnostics.clients == NAMES[:4]
        assert [*dropped(said)] == ["eve"]
    (folder / "eve.json").unlink()
    said = aggregate_files(listed(folder), fedavg, **files)
    assert dropped(said) == {"eve": "banned by the operator: votes with mallory"}
    with open_ledger(files["ledger"], read_only=True) as ledger:
        standing = {one["id"]: (one["banned"], one["pardoned"]) for one in ledger.clients()}
        n_asked = [one["n_asked"] for one in ledger.rounds()]
    assert standing == {name: (name == "eve", name == "bob") for name in NAMES}
    assert n_asked == [5, 5, 5, 5]
    assert verify(files["ledger"]).holds


def test_one_more_file_in_a_folder_per_round_leaves_the_memory_of_the_watch(tmp_path):
    watch, base, expelled = factions(hearing=2.0, rewind=0, false_alarms=0.5), a_base(), []
    for number in range(1, 6):
        at, clients, _ = write_watched(tmp_path, number, base)
        if number > 3:
            clients.append(clients[-1].with_suffix(".json"))
            clients[-1].write_text("x")
        files = {"out": tmp_path / "next", "state": tmp_path / "state.safetensors", "seed": 5}
        said = aggregate_files(clients, fedavg, base=at, watch=watch, **files)
        expelled.append(said.verdicts.of("expelled"))
    attackers = tuple(f"c{i:02}" for i in range(N_ATTACKERS))
    assert expelled[2:] == [attackers] * 3
    assert not said.is_hearing
    assert said.diagnostics.clients == tuple(f"c{i:02}" for i in range(N_ATTACKERS, N - 1))
    assert {verdict.heard for verdict in said.verdicts if verdict.client in attackers} == {5}


def test_a_folder_per_client_gives_the_same_names_in_every_round(federation):
    folder, files, base, models = federation
    for name in NAMES:
        (folder / name).mkdir()
        (folder / f"{name}.safetensors").rename(folder / name / "model.safetensors")
    expected = in_memory(base, list(models.values()), median)[0]
    for given in (
        {"clients": listed(folder, "*/model.safetensors"), "names_in": folder},
        {"clients": listed(folder, "*/*"), "names_in": folder},
        {"clients": listed(folder)},  # the folders themselves
        {"clients": {path.parent.name: path for path in listed(folder, "*/*")}},
    ):
        said = aggregate_files(rule=median, **given, **files)
        assert said.diagnostics.clients == NAMES
        assert not said.diagnostics.notes
        assert_same(files["out"], expected)
    said = aggregate_files(listed(folder, "*/model.safetensors"), median, **files)
    assert not said.diagnostics.aggregated
    assert [*dropped(said)] == ["model"]
    assert any("--names-in" in note for note in said.diagnostics.notes)


def test_in_a_folder_of_its_own_a_client_harms_nobody_else_by_the_names_it_chooses(federation):
    folder, files, _, _ = federation
    for name in NAMES:
        (folder / name).mkdir()
        (folder / f"{name}.safetensors").rename(folder / name / f"{name}.safetensors")
    (folder / "eve" / "eve.safetensors").rename(folder / "eve" / "ann.safetensors")
    (folder / "dan" / "ann").mkdir()
    (folder / "dan" / "dan.safetensors").rename(folder / "dan" / "ann" / "ann.safetensors")
    everything = [path for path in listed(folder, "**/*.safetensors") if path.is_file()]
    said = aggregate_files(everything, median, names_in=folder, **files)
    assert said.diagnostics.clients == NAMES
    (folder / "eve" / "bob.safetensors").write_text("x")
    everything.append(folder / "eve" / "bob.safetensors")
    said = aggregate_files(everything, median, names_in=folder, **files)
    assert said.diagnostics.clients == NAMES[:4]
    assert [*dropped(said)] == ["eve"]


def test_sample_counts_are_needed_of_expected_clients_only(federation):
    folder, files, base, models = federation
    files["weights"] = folder.parent / "counts.json"
    files["weights"].write_text(json.dumps({"ann": 10, "bob": 20, "cat": 30, "dan": 40}))
    (folder / "eve.json").write_text("x")
    save_tensors(folder / "mallory.safetensors", models["ann"])
    said = aggregate_files(listed(folder), fedavg, **files)
    assert said.diagnostics.clients == NAMES[:4]
    assert [*dropped(said)] == ["eve", "mallory"]
    assert "no sample count" in dropped(said)["mallory"]
    sent = [models[name] for name in NAMES[:4]]
    assert_same(files["out"], in_memory(base, sent, fedavg, weights=[10, 20, 30, 40])[0])
    for path in listed(folder):
        if path.stem != "mallory":
            path.with_suffix(".json").write_text("x")  # of every client's name
    said = aggregate_files(listed(folder), fedavg, **files)
    assert not said.diagnostics.aggregated
    assert [*dropped(said)] == [*NAMES, "mallory"]
    files["weights"].write_text(json.dumps({"in/ann": 10}))
    with pytest.raises(DataError, match="has no count for 'ann' and 5 more"):
        aggregate_files(listed(folder), fedavg, **files)


def test_wrong_choices_of_the_caller_are_refused(federation):
    folder, files, _, _ = federation
    ann = folder / "ann.safetensors"
    for clients, more, said in (
        ([], {}, "at least one client's file"),
        ({}, {}, "at least one client's file"),
        ([ann, folder / ".." / "in" / "ann.safetensors"], {}, "is given twice"),
        ({"ann": ann, "bob": ann}, {}, "is given twice"),
        ({7: ann}, {}, "must be text; got 7"),
        ({"ann": ann}, {"names_in": folder}, "leave out names_in="),
        ([ann], {"names_in": folder / "ann"}, "is not inside"),
        ([folder], {"names_in": folder}, "is not inside"),
    ):
        with pytest.raises(InputError, match=said):
            aggregate_files(clients, median, **more, **files)


def test_no_two_hostile_names_become_one():
    rng, alphabet = (
        np.random.default_rng(0),
        ["\\", "x", "1", "b", "\x1b", "n", "\n", "\udcff", "u", "\u202e"],
    )
    names = {"".join(rng.choice(alphabet, rng.integers(1, 6))) for _ in range(3000)}
    named = name_clients({name: f"in/{number}" for number, name in enumerate(sorted(names))})
    assert len(named.by_client) == len(names)
    assert all(name.isprintable() for name in named.by_client)
