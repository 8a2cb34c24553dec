import inspect
import json
import re

import pytest

from holdfast import aggregators
from holdfast.core import ROLES
from holdfast.lab import CLIENT_SIDE, SERVER_SIDE
from holdfast.lab.catalogue import BY_TASK

from .test_run import holdfast


def list_choices(kind):
    return json.loads(holdfast("list", kind, "--json").stdout)


def test_every_defence_is_listed_with_every_setting():
    entries = {entry["name"]: entry["settings"] for entry in list_choices("defences")}
    trained = {**CLIENT_SIDE, **SERVER_SIDE}
    assert set(entries) == {*aggregators.__all__, *trained}
    for name, settings in entries.items():
        if name in trained:
            train = trained[name]
            keywords = set(inspect.getfullargspec(train).kwonlyargs) - set(ROLES["training"].inputs)
            assert {f"{train.__name__}.{keyword}" for keyword in keywords} <= set(settings)
            assert ("confident.threshold" in settings) == ("flip" in name)
            continue
        keywords = inspect.getfullargspec(getattr(aggregators, name).function).kwonlyargs
        assert set(settings) == set(keywords) - set(ROLES["rule"].inputs)
    tau = "0.6 (cifar10: 0.2, cifar10-resnet18: 0.2)"
    assert entries["invariant"] == {"tau": tau, "alpha": 0.25, "strict": False}
    assert entries["sign_sgd"]["step"] == "0.001 (phishing: 0.01)"
    assert entries["krum"] == {"n_malicious": "f, the attackers expected per round"}


def test_every_attack_that_is_listed_can_be_run():
    from holdfast.lab.choices import build_run

    for entry in list_choices("attacks"):
        for task in entry["tasks"] or ["phishing", "digits"]:
            run = build_run(
                task,
                attack=entry["name"],
                settings={
                    name: tuple(value) if isinstance(value, list) else value
                    for name, value in entry["settings"].items()
                    if value != BY_TASK
                },
            )
            assert run == build_run(task, attack=entry["name"])


def test_what_attackers_do_without_a_function_is_listed_with_its_numbers():
    settings = {entry["name"]: entry["settings"] for entry in list_choices("attacks")}
    assert settings["collude"] == settings["whitewash"] == {}
    assert settings["sleeper"] == {"sleeps": BY_TASK}
    assert settings["on-off"] == {"period": 2}
    assert settings["ramp"] == {"ramp.until": BY_TASK}


def test_every_setting_of_a_task_can_be_set():
    from holdfast.lab.choices import build_run

    for entry in list_choices("tasks"):
        settings = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in entry["settings"].items()
            if name not in ("n_rounds", "n_clients", "n_per_round")
        }
        assert build_run(entry["name"], settings=settings) == build_run(entry["name"])


def test_every_watch_is_listed_with_settings_that_can_be_set():
    from holdfast.lab.choices import build_run

    for entry in list_choices("watches"):
        run = build_run("phishing", watch=entry["name"], settings=entry["settings"])
        assert run == build_run("phishing", defence=f"{entry['name']}+fedavg")
        assert dict(run.defence.watch.settings) == entry["settings"]


@pytest.mark.parametrize("kind", ["tasks", "attacks", "defences", "watches"])
def test_the_table_has_a_line_for_each_and_an_example(kind):
    output = holdfast("list", kind).output
    for entry in list_choices(kind):
        assert f" {entry['name']} " in output
        assert all(f"{name} = " in output for name in entry["settings"])
        assert entry["paper"] in output
    assert "For example: holdfast run" in output


def test_without_a_kind_every_name_of_every_kind_is_listed_once():
    output = holdfast("list").output
    names = re.findall(r"[\w-]+(?=,| *$)", output.partition("With settings")[0], re.M)
    told = json.loads(holdfast("list", "--json").stdout)
    assert list(told) == ["tasks", "attacks", "defences", "watches"]
    for kind, entries in told.items():
        assert entries == list_choices(kind)
        assert {names.count(entry["name"]) for entry in entries} == {1}
        assert kind in output.rpartition("holdfast list ")[2]


def test_every_rule_is_listed_with_its_paper():
    papers = {entry["name"]: entry["paper"] for entry in list_choices("defences")}
    assert papers["krum"] == "https://arxiv.org/abs/1703.02757"
    assert all(paper.startswith("https://") for name, paper in papers.items()), papers


def test_what_cannot_be_listed_is_a_wrong_use():
    assert holdfast("list", "colours").exit_code == 2
