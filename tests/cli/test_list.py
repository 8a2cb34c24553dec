import inspect
import json
import re

import pytest

from holdfast import aggregators
from holdfast.core import ROLES
from holdfast.lab import CLIENT_SIDE, SERVER_SIDE
from holdfast.lab.catalogue import BY_TASK
from holdfast.lab.gists import GISTS

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
    tau = "0.6 (cifar10: 0.2, cifar10-resnet18: 0.2, cifar10-released: 0.2, cifar10-resnet18-warm: 0.2)"
    assert entries["invariant"] == {"tau": tau, "alpha": 0.25, "strict": False}
    assert entries["sign_sgd"]["step"] == "0.001 (phishing: 0.01, phishing-noniid: 0.01)"
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
    assert settings["collude"] == settings["whitewash"] == settings["mask"] == {}
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
def test_the_details_have_every_setting_and_paper_and_an_example(kind):
    entries = list_choices(kind)
    output = holdfast("list", kind, *(entry["name"] for entry in entries)).output
    for entry in entries:
        assert f" {entry['name']} " in output
        assert all(f"{name} = " in output for name in entry["settings"])
        assert entry["paper"] in output
    assert "For example: holdfast run" in output


@pytest.mark.parametrize("kind", ["tasks", "attacks", "defences", "watches"])
def test_a_list_has_one_line_per_name_and_says_how_to_see_more(kind):
    *lines, last = holdfast("list", kind).stdout.rstrip().splitlines()
    assert last == f"Settings, tasks and papers: holdfast list {kind} NAME"
    rows = [line for line in lines if line.startswith("  ")]
    names = dict.fromkeys(entry["name"] for entry in list_choices(kind))
    assert sorted(row.split()[0] for row in rows) == sorted(names)
    assert all(entry["gist"] in "".join(rows) for entry in list_choices(kind))


@pytest.mark.parametrize("kind", ["tasks", "attacks", "defences", "watches"])
def test_the_few_words_about_each_name_fit_on_its_line(kind):
    assert set(GISTS[kind]) == {entry["name"] for entry in list_choices(kind)}
    longest = 78 - max(len(name) for name in GISTS[kind])
    assert {name: gist for name, gist in GISTS[kind].items() if len(gist) > longest - 2} == {}


def test_a_list_is_grouped_and_says_which_tasks_an_entry_is_for():
    attacks = "\n".join(map(str.rstrip, holdfast("list", "attacks").stdout.splitlines()))
    heads = ["Backdoors", "Ways to train", "Ways to change the updates", "Ways to hide", "Ways to behave"]
    assert [line for line in attacks.splitlines() if line in heads] == heads
    assert "changes per image; on digits, fashion-mnist, cifar10\n" in attacks
    assert "labelled wrongly; on 7 tasks\n" in attacks
    assert "by SGD; not on twitter" in holdfast("list", "defences").stdout


def test_the_details_of_several_names_are_shown_in_their_order_joined_or_not():
    told = json.loads(holdfast("list", "attacks", "pgd+edge-case", "collude", "--json").stdout)
    names = [entry["name"] for entry in told]
    assert list(dict.fromkeys(names)) == ["pgd", "edge-case", "collude"]
    assert {task for entry in told for task in entry["tasks"]} >= {"phishing", "digits", "twitter"}
    (entry,) = json.loads(holdfast("list", "defences", "krum-trimmed-mean", "--json").stdout)
    assert entry["name"] == "krum_trimmed_mean"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("attacks", "edgecase"),
            "'edgecase'; did you mean 'edge-case'? 'holdfast list attacks' shows all 42\n",
        ),
        (("defences", "foo"), "no defence 'foo'; 'holdfast list defences' shows all 41\n"),
        (("watches", "faction"), "no watch 'faction'; did you mean 'factions'?"),
        (("defences", "factions+krum"), "one of the watches, see 'holdfast list watches factions'"),
    ],
)
def test_an_unknown_name_is_answered_with_what_was_meant(words, said):
    done = holdfast("list", *words)
    assert done.exit_code == 1
    assert said in done.stderr


@pytest.mark.parametrize("kind", ["tasks", "attacks", "defences", "watches"])
def test_the_example_under_an_entry_can_be_run(kind):
    from holdfast.cli.listing_shown import _example
    from holdfast.lab.catalogue import list_choices
    from holdfast.lab.choices import build_run

    for entry in list_choices(kind):
        words = _example(kind, entry).split()[2:]
        given = dict(zip(words[1::2], words[2::2], strict=True))
        setting, _, value = given.get("--set", "").partition("=")
        build_run(
            words[0],
            attack=given.get("--attack", "edge-case" if entry.name in ("phishing", "digits") else "none"),
            defence=given.get("--defence", "fedavg"),
            settings={setting: json.loads(value)} if setting else {},
        )


def test_without_a_kind_every_name_of_every_kind_is_listed_once():
    output = holdfast("list").output
    names = re.findall(r"[\w-]+(?=,| *$)", output.partition("For example: ")[0], re.M)
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
