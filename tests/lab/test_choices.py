import pytest

from holdfast.errors import InputError
from holdfast.lab.choices import Numbers, build_contest, build_run, unattacked


def test_a_setting_finds_the_function_it_belongs_to():
    settings = {"tau": 0.5, "value": 0.3, "factor": 2.0, "lr": 0.2, "epochs": 2, "poison_fraction": 0.1}
    run = build_run(
        "phishing", attack="edge-case+replacement", defence="invariant", settings={**settings, "n_train": 900}
    )
    assert dict(run.defence.aggregate.settings)["tau"] == 0.5
    assert dict(run.attack.backdoor.settings)["value"] == 0.3
    assert dict(run.attack.crafts[0].settings)["factor"] == 2.0
    assert dict(run.task.train.settings)["lr"] == 0.2
    assert dict(run.task.data.settings)["n_train"] == 900
    assert (run.task.epochs, run.attack.poison_fraction) == (2, 0.1)


def test_how_long_and_how_often_attackers_rest_can_be_set():
    run = build_run("digits", attack="edge-case+sleeper+on-off", settings={"sleeps": 3, "attack.period": 4})
    assert (run.attack.sleeps, run.attack.period) == (3, 4)


def test_one_of_several_crafts_can_be_meant():
    run = build_run(
        "phishing",
        attack="edge-case+replacement+sign-flip",
        settings={"sign_flip.factor": 3.0, "boost.factor": 7},
    )
    assert [dict(craft.settings)["factor"] for craft in run.attack.crafts] == [7, 3.0]
    with pytest.raises(InputError, match=r"write boost\.factor or sign_flip\.factor"):
        build_run("phishing", attack="edge-case+replacement+sign-flip", settings={"factor": 3.0})


def test_how_clients_train_and_the_model_answers_under_a_defence_can_be_set():
    settings = {"threshold": 0.2, "n_inversion_steps": 3, "flip_compact.lr": 0.05}
    run = build_run("digits", defence="flip", settings=settings)
    trained = dict(run.defence.train.settings)
    assert (trained["n_inversion_steps"], trained["lr"], trained["momentum"]) == (3, 0.05, 0.9)
    assert dict(run.defence.predict.settings) == {"threshold": 0.2}
    assert (
        dict(build_run("digits", defence="flip-full", settings={"n_pairs": 7}).defence.train.settings)[
            "n_pairs"
        ]
        == 7
    )
    with pytest.raises(InputError, match=r"write flip_compact\.lr or batched_sgd\.lr"):
        build_run("digits", defence="flip", settings={"lr": 0.05})


def test_a_setting_of_a_rule_behind_another_can_be_set():
    run = build_run(
        "digits", defence="factions+arc+nnm+invariant", settings={"tau": 0.5, "arc.n_malicious": 3}
    )
    first, second = run.defence.aggregate, run.defence.aggregate.inner
    assert dict(first.settings)["n_malicious"] == 3
    assert dict(second.settings)["n_malicious"] == 0
    assert dict(second.inner.settings)["tau"] == 0.5
    with pytest.raises(InputError, match=r"write arc\.n_malicious or nnm\.n_malicious"):
        build_run("digits", defence="arc+nnm+median", settings={"n_malicious": 3})
    with pytest.raises(InputError, match="has no setting 'rule'"):
        build_run("digits", defence="arc+median", settings={"rule": "krum"})


def test_a_fifth_of_the_clients_is_malicious_however_many_there_are():
    assert build_run("digits", attack="edge-case", numbers=Numbers(n_clients=30)).attack.n_malicious == 6
    assert build_run("digits", attack="edge-case", numbers=Numbers(n_malicious=1)).attack.n_malicious == 1


def test_without_attackers_only_the_measure_of_the_attack_is_left():
    run = unattacked(build_run("digits", attack="edge-case+collude+adaptive", defence="krum"))
    assert run == unattacked(build_run("digits", attack="edge-case+alie", defence="krum"))
    assert run.attack.backdoor is not None
    assert dict(run.defence.aggregate.settings) == {"n_malicious": 4}


def test_an_attack_by_nobody_is_no_attack_which_is_still_measured():
    attacked = build_run("digits", attack="edge-case+pgd")
    nobody = build_run("digits", attack="edge-case+pgd", numbers=Numbers(n_malicious=0))
    assert nobody == unattacked(attacked)
    assert nobody.attack.backdoor is not None


def test_a_contest_differs_in_defence_and_seed_alone():
    contest = build_contest("digits", ["fedavg", "and-mask"], seeds=(0, 1), attack="edge-case")
    assert [[run.seed for run in runs] for runs in contest.values()] == [[0, 1], [0, 1]]
    assert len({(run.task, run.attack) for runs in contest.values() for run in runs}) == 1
    assert len({run.key for runs in contest.values() for run in runs}) == 4


def test_a_setting_of_a_contest_goes_to_the_defences_that_have_it():
    contest = build_contest("phishing", ["invariant", "fedavg"], settings={"tau": 0.4, "lr": 0.05})
    assert dict(contest["invariant"][0].defence.aggregate.settings)["tau"] == 0.4
    assert {dict(runs[0].task.train.settings)["lr"] for runs in contest.values()} == {0.05}


def test_a_setting_that_no_defence_of_a_contest_has_is_refused():
    with pytest.raises(InputError, match="no setting 'alpha'"):
        build_contest("phishing", ["and-mask", "fedavg"], settings={"alpha": 0.4})


def test_settings_that_share_a_name_with_an_input_of_another_role_can_be_set():
    tweets = build_run("twitter", settings={"vectors": "word2vec-300d"})
    assert tweets.description["task"]["data"].count("vectors='word2vec-300d'") == 1
    images = build_run("cifar10", scale="paper", settings={"resnet18.weights": "mine.pth"})
    assert "weights='mine.pth'" in images.description["task"]["model"]
    assert images.key != build_run("cifar10", scale="paper").key


def test_how_images_are_augmented_can_be_set():
    run = build_run("cifar10", scale="paper", settings={"crop_and_flip.margin": 2})
    assert repr(run.task.augment) == "crop_and_flip(margin=2)"


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"epochs": "x"}, "epochs must be a number; got 'x'"),
        ({"batch_size": 2.5}, "batch_size must be a whole number of at least 1; got 2.5"),
        ({"momentums": 0.1}, "no setting 'momentums'; did you mean 'momentum'"),
        ({"sgd.lr": 0.1}, r"no setting 'sgd\.lr'; did you mean 'batched_sgd\.lr'"),
        ({"exposure": 0.1}, "no setting 'exposure'"),
    ],
)
def test_a_setting_that_a_run_cannot_have_is_refused(settings, needed):
    with pytest.raises(InputError, match=needed):
        build_run("phishing", settings=settings)


def test_a_watch_is_part_of_the_defences_name_or_named_beside_it():
    named = build_run("phishing", attack="edge-case", defence="factions+and-mask")
    assert named == build_run("phishing", attack="edge-case", defence="and-mask", watch="factions")
    assert named.defence.name == "factions+and_mask"
    assert named.description["defence"]["watch"] == repr(named.defence.watch)
    assert "watch" not in build_run("phishing").description["defence"]
    with pytest.raises(InputError, match=r"factions\+median has a watch already"):
        build_run("phishing", defence="factions+median", watch="factions")


def test_what_a_watch_does_can_be_set():
    settings = {"factions.hearing": 3, "mode": "report", "tau": 0.5}
    run = build_run("phishing", defence="invariant", watch="factions", settings=settings)
    watch = dict(run.defence.watch.settings)
    assert (watch["hearing"], watch["mode"]) == (3.0, "report")
    assert dict(run.defence.aggregate.settings)["tau"] == 0.5
    with pytest.raises(InputError, match="no setting 'hearing'"):
        build_run("phishing", defence="invariant", settings={"hearing": 3})


def test_a_contest_is_watched_in_whole_or_in_part():
    contest = build_contest("phishing", ["median", "factions+median"], settings={"rewind": 0})
    assert [runs[0].defence.watch is None for runs in contest.values()] == [True, False]
    assert dict(contest["factions+median"][0].defence.watch.settings)["rewind"] == 0
    whole = build_contest("phishing", ["median", "rfa"], watch="factions", seeds=(0, 1))
    assert list(whole) == ["factions+median", "factions+rfa"]
    assert {run.defence.name for runs in whole.values() for run in runs} == set(whole)


@pytest.mark.parametrize(
    ("name", "option"),
    [("n_malicious", "malicious"), ("attack.n_malicious", "malicious"), ("task.n_per_round", "per-round")],
)
def test_a_number_that_is_an_option_of_its_own_is_named(name, option):
    with pytest.raises(InputError, match=rf"is an option of its own, not a setting: write --{option} 2, or"):
        build_run("digits", attack="edge-case", settings={name: 2})
