from dataclasses import replace

import pytest

from holdfast import InputError, aggregators, factions
from holdfast.lab import (
    ATTACKS,
    BACKDOORS,
    SCALES,
    TASKS,
    attack_named,
    defence_named,
    task_named,
)
from holdfast.lab.defence_names import ruled_by
from holdfast.lab.models import lstm
from holdfast.lab.scenario import Attack, Defence
from holdfast.lab.tasks import base_name

PHISHING, DIGITS = task_named("phishing"), task_named("digits")


def test_every_task_goes_by_its_own_name_and_has_both_backdoors_but_text():
    assert {name: task.name for name, task in TASKS.items()} == {name: name for name in TASKS}
    images = ["a3fl", "distributed", "edge-case", "foreign", "iba", "tuned"]
    own = dict.fromkeys(("digits", "fashion-mnist", "cifar10"), images) | {"twitter": ["edge-case"]}
    own |= {"flower-fmnist": ["patch"], "fdcr-cifar10": ["patch"], "cifar10-semantic": ["semantic"]}
    own |= {"fdcr-cifar10-full": ["patch"], "fdcr-fmnist": ["patch"], "neuroforensics-mnist": ["a3fl"]}
    own |= {"gsc-cifar10": ["distributed", "patch"]}
    assert {name: sorted(backdoors) for name, backdoors in BACKDOORS.items()} == {
        name: own.get(name, ["distributed", "edge-case"]) for name in map(base_name, TASKS)
    }


@pytest.mark.parametrize("name", [name for name in TASKS if TASKS[name].minority is not None])
def test_a_task_with_a_minority_is_the_usual_one_with_its_attacks_and_defences(name):
    for scale in SCALES:
        task, usual = task_named(name, scale=scale), task_named(base_name(name), scale=scale)
        assert task.minority is not None
        assert replace(task, name=usual.name, minority=None) == usual
        attack = attack_named("edge-case+pgd", task)
        assert attack == attack_named("edge-case+pgd", usual)
        for rule in ("invariant", "sign_sgd", "rlr"):
            assert defence_named(rule, task, attack) == defence_named(rule, usual, attack)


def test_phishing_is_set_as_in_the_paper():
    task = PHISHING
    assert (task.n_clients, task.n_per_round, task.n_rounds) == (100, 20, 20)
    assert (task.epochs, task.batch_size) == (1, 64)
    assert dict(task.train.settings) == {"lr": 0.1, "momentum": 0.0}


def test_a_fifth_of_the_clients_is_malicious_unless_a_number_is_given():
    assert attack_named("edge-case", PHISHING).n_malicious == 20
    assert attack_named("edge-case", DIGITS).n_malicious == 10
    assert attack_named("edge-case", PHISHING, n_malicious=3).n_malicious == 3


def test_no_attack_is_nobody():
    assert attack_named("none", PHISHING) == Attack()


@pytest.mark.parametrize("task", [PHISHING, DIGITS], ids=lambda task: task.name)
@pytest.mark.parametrize("part", ATTACKS)
def test_every_part_changes_the_attack_and_joins_with_a_backdoor(part, task):
    plain, joined = attack_named("edge-case", task), attack_named(f"edge-case+{part}", task)
    assert joined.backdoor == plain.backdoor
    assert replace(joined, name=plain.name) != plain


def test_parts_are_applied_in_the_order_of_the_name():
    attack = attack_named("distributed+collude+neurotoxin+replacement", PHISHING)
    assert attack.colludes
    assert [craft.name for craft in attack.crafts] == ["neurotoxin", "boost"]
    assert attack.backdoor.name == "distributed_values"


def test_attackers_with_a_way_of_their_own_train_at_the_pace_of_honest_clients():
    for name in ("pgd", "constrain-and-scale", "cosine-constrained", "f3ba", "chameleon", "anticipate"):
        settings = dict(attack_named(name, DIGITS).train.settings)
        assert (settings["lr"], settings["momentum"]) == (0.1, 0.9)


def test_attackers_with_a_loss_of_their_own_train_by_adam_where_everybody_does():
    for name in ("cosine-constrained", "f3ba", "chameleon", "anticipate"):
        settings = dict(attack_named(f"edge-case+{name}", task_named("twitter")).train.settings)
        assert (settings["optimiser"], settings["lr"]) == ("adam", 2e-3)
        assert dict(attack_named(name, DIGITS).train.settings)["optimiser"] == "sgd"


@pytest.mark.parametrize(("n_malicious", "n_clients"), [(None, 5), (20, 2), (50, 1), (1, 20)])
def test_who_anticipates_a_round_is_one_of_the_clients_per_attacker(n_malicious, n_clients):
    settings = dict(attack_named("anticipate", DIGITS, n_malicious=n_malicious).train.settings)
    assert settings["n_clients"] == n_clients


def test_pgd_is_bound_to_the_length_of_honest_updates():
    radii = [dict(attack_named("pgd", task).train.settings)["radius"] for task in (PHISHING, DIGITS)]
    assert radii == [0.25, 1.0]


def test_constrain_and_scale_replaces_the_average_of_a_round():
    (craft,) = attack_named("constrain-and-scale", replace(PHISHING, n_per_round=8)).crafts
    assert dict(craft.settings) == {"total": 8.0}


def test_a_sleeper_wakes_in_the_middle_and_a_ramp_ends_with_the_training():
    attack = attack_named("edge-case+sleeper+ramp", replace(DIGITS, n_rounds=50))
    assert attack.sleeps == 25
    assert dict(attack.crafts[0].settings) == {"until": 50}


def test_ways_to_hide_join_with_each_other():
    attack = attack_named("distributed+whitewash+split+on-off+sleeper+mask+mimic+rotate+in-turn", DIGITS)
    assert (attack.whitewashes, attack.masks, attack.period, attack.sleeps) == (True, True, 2, 15)
    assert [craft.name for craft in attack.crafts] == ["split", "mimic", "rotate", "in_turn"]


@pytest.mark.parametrize(
    ("look_up", "needed"),
    [
        (
            lambda: task_named("fishing"),
            r"no task 'fishing'; did you mean 'phishing'\? 'holdfast list tasks' shows all 22$",
        ),
        (
            lambda: attack_named("edgecase", PHISHING),
            r"'edgecase' on phishing; did you mean 'edge-case'\? 'holdfast list attacks' shows all 42$",
        ),
        (lambda: attack_named("edge-case+colude", PHISHING), "no attack 'colude' .* did you mean 'collude'"),
        (lambda: attack_named("edge-case+", PHISHING), "no attack ''"),
        (
            lambda: attack_named("edge-case,collude", PHISHING),
            r"phishing; 'holdfast list attacks' shows all 42\. Join several with \+$",
        ),
        (
            lambda: attack_named("a3fl", PHISHING),
            "no attack 'a3fl' on phishing, only on digits, fashion-mnist, cifar10, neuroforensics-mnist; "
            "'holdfast list attacks'",
        ),
        (
            lambda: defence_named("floo", PHISHING, Attack()),
            r"no defence 'floo'; did you mean 'flood'\? 'holdfast list defences' shows all 41$",
        ),
        (
            lambda: defence_named("foo", PHISHING, Attack()),
            "no defence 'foo'; 'holdfast list defences' shows all 41$",
        ),
        (lambda: attack_named("edge-case+distributed", PHISHING), "one backdoor; .* names two"),
        (lambda: attack_named("pgd+constrain-and-scale", PHISHING), "train in one way; .* names two"),
        (
            lambda: attack_named("edge-case", replace(PHISHING, name="mine")),
            "'edge-case' on mine, only on phishing, digits",
        ),
        (lambda: defence_named("krumm", PHISHING, Attack()), "no defence 'krumm'; did you mean 'krum'"),
        (
            lambda: defence_named("faction+median", PHISHING, Attack()),
            r"no watch 'faction'; did you mean 'factions'\? 'holdfast list watches' shows the only one$",
        ),
        (lambda: defence_named("factions+medain", PHISHING, Attack()), "no defence 'medain'"),
        (lambda: defence_named("factions+factions+median", PHISHING, Attack()), "has at most one"),
        (lambda: defence_named("median+factions", PHISHING, Attack()), "no watch 'median'"),
        (lambda: defence_named("+median", PHISHING, Attack()), "no watch ''"),
        (lambda: defence_named("nmm+krum", PHISHING, Attack()), "no watch 'nmm'; did you mean 'nnm'"),
        (lambda: defence_named("nnm+krumm", PHISHING, Attack()), "no defence 'krumm'; did you mean 'krum'"),
        (
            lambda: defence_named("krum+median", PHISHING, Attack()),
            "no watch 'krum'.*arc, bucketing, .*nnm may",
        ),
        (lambda: defence_named("nnm+", PHISHING, Attack()), "no defence ''"),
        (
            lambda: defence_named("nnm+factions+krum", PHISHING, Attack()),
            r"a watch comes first in a defence's name: factions\+nnm\+krum",
        ),
        (lambda: defence_named("factions", PHISHING, Attack()), r"factions is a watch.*factions\+fedavg"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest_right_one(look_up, needed):
    with pytest.raises(InputError, match=needed):
        look_up()


@pytest.mark.parametrize("name", aggregators.__all__)
def test_every_rule_is_a_defence(name):
    assert defence_named(name, PHISHING, attack_named("edge-case", PHISHING)).aggregate.name == name


@pytest.mark.parametrize("name", ["krum", "invariant", "flip"])
def test_a_watch_before_a_rule_changes_the_name_and_nothing_else(name):
    attack = attack_named("edge-case", DIGITS)
    watched, plain = defence_named(f"factions+{name}", DIGITS, attack), defence_named(name, DIGITS, attack)
    assert (watched.name, watched.watch) == (f"factions+{name}", factions())
    assert replace(watched, name=name, watch=None) == plain


@pytest.mark.parametrize(
    ("name", "train", "lr"), [("flip", "flip_compact", 0.1), ("flip_full", "flip", 0.001)]
)
def test_flip_is_averaging_of_clients_who_train_in_its_way_and_may_decline(name, train, lr):
    defence = defence_named(name, DIGITS, Attack())
    assert (defence.name, defence.aggregate.name, defence.train.name) == (name, "fedavg", train)
    assert dict(defence.train.settings)["lr"] == lr
    assert repr(defence.predict) == "confident(threshold=0.4)"


def test_flip_takes_the_pace_of_the_task():
    settings = dict(defence_named("flip", DIGITS, Attack()).train.settings)
    assert (settings["lr"], settings["momentum"]) == (0.1, 0.9)


@pytest.mark.parametrize("name", ["fl_wbc", "lead_fl"])
def test_other_client_side_defences_are_for_text_too_at_its_pace(name):
    tweets = task_named("twitter")
    defence = defence_named(name, tweets, Attack())
    settings = dict(defence.train.settings)
    assert (settings["optimiser"], settings["lr"]) == ("adam", 2e-3)
    assert defence.predict == Defence().predict


def test_clients_who_train_in_their_own_way_may_stand_before_any_defence():
    defence = defence_named("lead-fl+factions+krum", DIGITS, Attack("some", 10))
    assert defence.name == "lead_fl+factions+krum"
    assert (defence.train.name, defence.watch.name, defence.aggregate.name) == ("lead_fl", "factions", "krum")
    with pytest.raises(InputError, match=r"train in one way; lead_fl\+flip names two"):
        defence_named("lead_fl+flip", DIGITS, Attack())


def test_a_server_that_trains_may_stand_before_any_defence_and_alone_before_plain_averaging():
    defence = defence_named("csft+lead_fl+nnm+krum", DIGITS, Attack("some", 10))
    assert defence.name == "csft+lead_fl+nnm+krum"
    assert (defence.after.name, defence.train.name, defence.aggregate.name) == ("csft", "lead_fl", "nnm")
    assert dict(defence.after.settings)["lr"] == 0.1
    alone = defence_named("flood", DIGITS, Attack())
    assert (alone.name, alone.after.name, alone.aggregate.name) == ("flood", "flood", "fedavg")
    with pytest.raises(InputError, match=r"trains in one way; csft\+flood names two"):
        defence_named("csft+flood", DIGITS, Attack())
    with pytest.raises(InputError, match="flood draws inputs in numbers; twitter is text"):
        defence_named("flood+krum", task_named("twitter"), Attack())


@pytest.mark.parametrize("name", ["flip", "flip_full"])
def test_flip_says_that_it_is_not_for_text(name):
    with pytest.raises(InputError, match="tweets is text"):
        defence_named(name, replace(PHISHING, name="tweets", model=lstm), Attack())


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("nnm+trimmed-mean", "nnm(n_malicious=4, rule=trimmed_mean(alpha=0.25))"),
        ("nnm+krum", "nnm(n_malicious=4, rule=krum(n_malicious=4))"),
        ("arc+nnm+rlr", "arc(n_malicious=4, rule=nnm(n_malicious=4, rule=rlr(threshold=8)))"),
        ("bucketing+median", "bucketing(size=2, rule=median())"),
        ("nnm", "nnm(n_malicious=4, rule=trimmed_mean(alpha=0.25))"),
    ],
)
def test_rules_stand_in_front_of_each_other_in_the_order_of_the_name(name, made):
    task = replace(DIGITS, name="mine")  # for which no settings were published
    attack = Attack("some", 10)
    defence = defence_named(name, task, attack)
    assert defence.name == name.replace("-", "_")
    assert repr(defence.aggregate) == made
    watched = defence_named(f"factions+{name}", task, attack)
    assert watched == replace(defence, name=f"factions+{defence.name}", watch=factions())


def test_what_stands_behind_has_the_settings_that_were_published_for_the_task():
    alone, behind = (
        defence_named(name, DIGITS, Attack()).aggregate for name in ("invariant", "nnm+invariant")
    )
    assert behind.inner == alone


def test_a_front_stands_before_plain_averaging_of_clients_who_train_in_their_own_way():
    alone, behind = (defence_named(name, DIGITS, Attack()) for name in ("flip", "arc+flip"))
    assert (behind.train, behind.predict) == (alone.train, alone.predict)
    assert behind.aggregate.inner == alone.aggregate


def test_a_rule_with_another_behind_it_is_called_by_both_names_and_told_of_attackers():
    defence = ruled_by(aggregators.nnm(rule=aggregators.krum), DIGITS, Attack("some", 10))
    assert defence.name == "nnm+krum"
    assert defence == defence_named("nnm+krum", DIGITS, Attack("some", 10))


def test_a_rule_assumes_the_attackers_there_are_on_average():
    attack = attack_named("edge-case", DIGITS)
    assert dict(defence_named("krum", DIGITS, attack).aggregate.settings)["n_malicious"] == 4
    assert dict(defence_named("rlr", DIGITS, attack).aggregate.settings)["threshold"] == 8
