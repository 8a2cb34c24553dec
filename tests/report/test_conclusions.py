import numpy as np
import pytest

from holdfast import Aggregate, rule
from holdfast.lab.scenario import Attack, Defence, Run
from holdfast.paper.comparison import ATTACKED, HONEST
from holdfast.paper.demo import HONEST as NOBODY
from holdfast.paper.experiment import run_shown
from holdfast.paper.statistics import spread
from holdfast.report.concluding import conclude_contest, conclude_round, conclude_run
from holdfast.report.conclusions import judge
from holdfast.report.demo import conclude_demo
from holdfast.report.next_steps import BEST, Typed, after_contest, after_run
from holdfast.report.suspects import suspects_in_round, suspects_in_runs
from holdfast.runs.recording import run_and_record
from holdfast.watching import Verdict, Verdicts

from ..toy import TOY

TYPED = Typed("digits", "edge-case", options=("--out", "here"), own=("--set", "tau=0.5"))


@pytest.mark.parametrize(
    ("success", "unattacked", "word"),
    [
        ([0.05], [0.0], "kept out"),
        ([0.10], [0.0], "kept out"),
        ([0.11], [0.0], "partly in"),
        ([0.49], [0.0], "partly in"),
        ([0.50], [0.0], "got in"),
        ([0.84], [0.79], "kept out"),  # the same inputs get that label without an attack
        ([0.84], [0.30], "got in"),
        ([0.00, 0.84], [0.0, 0.0], "partly in"),  # seeds disagree
        ([0.00, 0.84], [0.0, 0.79], "kept out"),  # each by its own seed
        ([0.90, 0.95, 0.99], [0.1], "got in"),
    ],
)
def test_a_backdoor_is_judged_by_how_much_more_often_it_works_than_without_an_attack(
    success, unattacked, word
):
    judged = judge([0.9] * len(success), success, unattacked=unattacked, guessing=0.1)
    assert judged.word == word
    assert "points more, counts as kept out." in judged.reason


def test_the_threshold_is_shown_and_how_many_seeds_keep_it():
    judged = judge([0.9, 0.9], [0.02, 0.62], unattacked=[0.04, 0.04])
    assert "32.0% of the inputs with the backdoor get the attackers' label" in judged.reason
    assert "without an attack 4.0%. Up to 14.0%, 10 points more, counts as kept out." in judged.reason
    assert judged.reason.endswith("It is kept out in 1 of 2 seeds.")


@pytest.mark.parametrize(("accuracy", "word"), [(0.18, "not trained"), (0.20, "got in")])
def test_a_model_that_hardly_beats_guessing_gets_no_verdict(accuracy, word):
    assert judge([accuracy], [0.9], unattacked=[0.0], guessing=0.1).word == word


def test_without_the_unattacked_rate_only_a_low_rate_is_judged():
    assert judge([0.9], [0.05]).word == "kept out"
    high = judge([0.9], [0.95])
    assert high.word == "no verdict"
    assert "was not measured" in high.reason


def test_an_attack_without_a_backdoor_is_judged_by_nobody():
    assert judge([0.9], None, guessing=0.1).word == "no verdict"


@pytest.mark.parametrize(
    ("word", "defence", "words"),
    [
        ("got in", "fedavg", f"holdfast run digits --attack edge-case --out here --defence {BEST}"),
        ("partly in", BEST, "holdfast advise --clients 100 --per-round 20 --malicious 20"),
        (
            "kept out",
            "invariant",
            "holdfast compare digits --attack edge-case --out here --set tau=0.5"
            " --defences fedavg,invariant --seeds 3",
        ),
        (
            "not trained",
            "invariant",
            "holdfast run digits --attack edge-case --out here --set tau=0.5 --defence invariant"
            " --rounds 100",
        ),
        ("no attack", "median", "holdfast list attacks"),
    ],
)
def test_the_next_command_after_a_run_follows_from_its_verdict(word, defence, words):
    assert after_run(word, defence, TYPED)[1] == words


def test_the_next_command_after_a_comparison_follows_from_its_verdicts():
    assert f",{BEST} --seeds 3" in after_contest({"fedavg": "got in"}, [0, 1, 2], TYPED)[1]
    assert after_contest({BEST: "got in"}, [0], TYPED)[1].startswith("holdfast advise ")
    assert after_contest({"rfa": "kept out"}, [4], TYPED)[1].endswith("--defences rfa --seeds 3")
    harder = after_contest({"rfa": "kept out", "fedavg": "got in"}, [0, 1, 2], TYPED)[1]
    assert "--attack edge-case+sleeper" in harder
    assert "--defences rfa " in harder
    assert "--rounds 100" in after_contest({"rfa": "not trained"}, [0], TYPED)[1]


def watched(since, n_wronged, hearings=()):
    """Return the document of a run in which clients 0, 1, 2 attack; [client] the round of its expulsion."""
    clients = list(range(5))
    said = {"client": clients, "standing": ["clear"] * 5, "since": [since.get(client) for client in clients]}
    watch = {"rounds": [{"round": 4, "clients": said}], "malicious": [0, 1, 2], "hearings": hearings}
    return {"watch": watch, "series": {"n_wronged": n_wronged}}


@pytest.mark.parametrize(
    ("since", "n_wronged", "words"),
    [
        ({}, [0, 0], "accused 0 of the 3 attackers that took part, and no honest client."),
        ({1: 2, 0: 2}, [0, 0], "2 of the 3 attackers that took part (clients 0, 1; in round 2), and no"),
        ({0: 3, 1: 2, 2: 4}, [0], "(clients 1, 0, 2; the first in round 2, the last in 4), and no honest"),
        ({4: 3}, [0, 1], "accused 0 of the 3 attackers that took part, and 1 honest client."),
        ({4: 3}, [2, 1], "and 1 honest client at the end, 2 at times."),
        ({}, [2, 0], "and no honest client at the end, 2 at times."),
    ],
)
def test_whom_the_watch_accused_is_told_with_those_it_wronged(since, n_wronged, words):
    assert words in suspects_in_runs([watched(since, n_wronged)])


def test_a_model_that_did_not_move_at_first_is_explained():
    told = suspects_in_runs([watched({}, [0], hearings=[1, 2, 3])])
    assert told.endswith("During its hearing, the first 3 rounds, the model stayed as it was.")


def test_of_several_seeds_the_accused_are_counted():
    runs = [watched({0: 2, 1: 2, 2: 2}, [0]), watched({0: 2}, [1])]
    assert "In 2 seeds, the watch accused 4 of 6 attackers that took part, and 1 honest client." in (
        suspects_in_runs(runs)
    )


def test_in_one_round_those_stand_out_who_are_accused_or_far_too_long():
    diagnostics = {
        "clients": ["ann", "bob", "cid", "dan"],
        "dropped": [{"client": "eve", "reason": "holds NaN"}, {"client": "moe", "reason": "expelled since"}],
        "norms": [1.0, 1.2, 9.6, None],
    }
    told = suspects_in_round(diagnostics, None)
    assert told.startswith(
        "cid (its update is 8 times as long as the median). One round accuses nobody else."
    )
    assert told.endswith(
        "What 1 client sent could not be used."
    )  # those whom somebody decided about do not count
    verdicts = Verdicts(
        7, (Verdict("moe", "expelled", heard=3, since=6), Verdict("ann", "suspected", heard=1))
    )
    told = suspects_in_round({**diagnostics, "dropped": [], "norms": None}, verdicts)
    assert told == "moe (accused since round 6), ann (suspected)."


def test_who_sent_the_same_is_for_attention_and_accuses_nobody():
    diagnostics = {"clients": [*"abcd"], "dropped": [], "norms": [1.0] * 4, "aggregated": True}
    told = conclude_round({"diagnostics": {**diagnostics, "identical": [["a", "c"]]}}, step=("", None))
    assert told.attention.startswith("Clients a and c sent the same model")
    assert told.suspects == "Nobody else stands out; a single round says little."
    told = conclude_round({"diagnostics": {**diagnostics, "unchanged": ["d"]}}, step=("", None))
    assert told.attention.startswith("Client d sent the global model unchanged")
    assert "attention" in str(told)
    assert conclude_round({"diagnostics": diagnostics}, step=("", None)).attention == ""


def test_nobody_is_accused_for_a_reason():
    nobody = {"clients": ["ann"], "dropped": [], "norms": None}

    def told(n_clients, standing="clear", **more):
        verdicts = tuple(Verdict(number, standing, heard=2) for number in range(n_clients))
        return suspects_in_round(nobody, Verdicts(7, verdicts, **more))

    assert told(10) == "Nobody: no clients vote together more than chance allows."
    assert told(10, hearing=True).startswith("Too early to say: ")
    assert told(10, "too early to tell").startswith("Too early to say: ")
    assert told(9) == told(9, hearing=True) == "The watch looks for nobody: 9 clients, it needs 10."
    assert suspects_in_round(nobody, None) == "Nobody stands out; a single round says little."
    none = suspects_in_round({**nobody, "clients": []}, None)
    assert none == "Too early to say: no update was aggregated."


def contest(**success):
    """Return a comparison of defences: under attack the backdoor works this often, unattacked never."""

    def cell(row, column, values):
        measured = {"accuracy": spread([0.9] * len(values)), "attack_success": spread(values)}
        return {"row": row, "column": column, "measured": measured, "keys": [row], "seeds": [0, 1]}

    cells = [
        cell(row, column, own)
        for row, values in success.items()
        for column, own in ((ATTACKED, values), (HONEST, [0.0, 0.0]))
    ]
    return {"rows": list(success), "cells": cells}


def test_a_comparison_names_the_defences_that_kept_the_backdoor_out():
    told = conclude_contest(contest(fedavg=[0.9, 1.0], rfa=[0.0, 0.1]), {}, guessing=0.1, typed=TYPED)
    assert told.word == "kept out"
    assert told.headline == "rfa kept the backdoor out (1 of 2 defences)"
    assert "fedavg got in (95.0%, unattacked 0.0%); rfa kept out (5.0%, unattacked 0.0%)." in told.reason
    none = conclude_contest(contest(fedavg=[0.9, 1.0], rfa=[0.0, 0.9]), {}, guessing=0.1)
    assert none.headline == "No defence kept the backdoor out (0 of 2 defences)"
    assert none.command is None


def test_a_comparison_tells_whom_the_watch_of_the_defence_accused_that_holds():
    runs = {"fedavg": {"series": {}}, "a": watched({}, [0]), "b": watched({0: 2}, [0])}
    told = conclude_contest(contest(fedavg=[0.9], a=[0.9], b=[0.0]), runs, guessing=None)
    assert told.suspects.startswith("b: The watch accused 1 of the 3 attackers")


def test_a_comparison_without_attackers_says_so_and_offers_an_attack():
    shown = {name: {"series": {"n_attackers": [0, 0]}} for name in ("fedavg", "rfa")}
    typed = Typed("digits", "none", backdoors=("edge-case",))
    told = conclude_contest(contest(fedavg=[0.0], rfa=[0.0]), shown, guessing=0.1, typed=typed)
    assert told.headline == "Nobody attacked"
    assert told.reason == "No attacker took part: there was no attack to keep out."
    assert told.suspects.startswith("Nobody is accused: none of these defences remembers its clients")
    assert told.command == "holdfast compare digits --attack edge-case --defences fedavg,rfa --seeds 2"
    assert after_contest({"rfa": "no attack"}, [0], TYPED)[1] == "holdfast list attacks"


def test_a_run_is_judged_by_its_twin_without_attackers():
    def run(success, n_attackers=2):
        series = {"accuracy": [0.5, 0.9], "attack_success": [0.0, success], "n_attackers": [0, n_attackers]}
        return {"defence": "median", "series": series}

    assert conclude_run(run(0.9), run(0.0, 0), guessing=0.1).word == "got in"
    assert conclude_run(run(0.9), run(0.85, 0), guessing=0.1).word == "kept out"
    assert conclude_run(run(0.0, 0), None, guessing=0.1).word == "no attack"
    assert conclude_run(run(0.0, 0), None, guessing=0.9).word == "not trained"


def test_a_run_says_in_how_many_rounds_the_server_aggregated_nothing(tmp_path):
    @rule
    def hopeless(updates):
        return Aggregate(np.full(np.asarray(updates).shape[1], np.nan))

    *_, result = run_and_record(Run(TOY, Attack("sign-flip", 2), Defence("own", hopeless)), tmp_path)
    told = conclude_run(run_shown(result), None, guessing=0.0)
    assert told.reason.endswith(" In 3 of 3 rounds the server aggregated nothing.")
    *_, result = run_and_record(Run(TOY, Attack("sign-flip", 2)), tmp_path)
    assert "aggregated nothing" not in conclude_run(run_shown(result), None, guessing=0.0).reason


def test_a_run_in_which_no_attacker_was_drawn_does_not_call_all_clients_honest():
    series = {"accuracy": [0.9], "attack_success": [0.0], "n_attackers": [0]}
    typed = Typed("digits", "edge-case", rounds=1, backdoors=("edge-case",))
    own = {"defence": "median", "attack": "edge-case", "series": series}
    told = conclude_run(own, None, guessing=0.1, typed=typed)
    assert told.reason == "No attacker was drawn in any round; 90.0% of the answers are correct."
    assert told.command == "holdfast run digits --attack edge-case --defence median --rounds 20"
    honest = conclude_run({**own, "attack": "none"}, None, guessing=0.1)
    assert honest.reason.startswith("All clients were honest; ")


def test_a_comparison_says_where_the_attack_does_not_even_work_without_a_defence():
    told = conclude_contest(contest(fedavg=[0.0], rfa=[0.0]), {}, guessing=0.1)
    assert (
        "Plain averaging (fedavg), which is no defence, kept it out, too: the attack does not work"
        in told.reason
    )
    assert "no defence" not in conclude_contest(contest(fedavg=[0.9], rfa=[0.0]), {}, guessing=0.1).reason


def demo(**success):
    """Return the document of a demo of two tasks, in which the backdoor works this often."""

    def cell(row, value):
        means = {"accuracy": {"mean": 0.9}, "attack_success": {"mean": value}}
        return {"row": row, "measured": means, "keys": [row]}

    rows = {NOBODY: (0.0, 0.0), **success}
    shown = [
        {"title": title, "cells": [cell(row, own[place]) for row, own in rows.items()]}
        for place, title in enumerate(("Mail", "Digits"))
    ]
    return {"experiments": shown, "runs": {row: {} for row in rows}}


def test_the_demo_advises_what_holds_in_both_tasks_and_at_its_worst_most():
    measured = demo(fedavg=(0.9, 1.0), invariant=(0.0, 0.9), krum=(0.0, 0.09), watched=(0.05, 0.0))
    codes = {row: f"defend({row})" for row in ("krum", "watched")}
    told = conclude_demo(measured, guessing=[0.5, 0.1], codes=codes)
    assert (
        told.headline == "krum and watched kept the backdoor out of both tasks; fedavg and invariant did not"
    )
    assert told.code == "defend(watched)"
    none = conclude_demo(demo(fedavg=(0.9, 1.0)), guessing=[0.5, 0.1], codes=codes)
    assert none.headline == "No defence kept the backdoor out of both tasks"
    assert none.code is None


def test_the_demo_gives_no_verdict_where_nothing_was_learned():
    told = conclude_demo(demo(fedavg=(0.9, 0.0)), guessing=[0.9, 0.9], codes={})
    assert told.word == "not trained"
    assert "Too little was learned for a verdict: Mail and Digits." in told.reason


def test_a_round_says_that_it_cannot_see_a_backdoor():
    diagnostics = {"clients": [], "dropped": [], "norms": None, "aggregated": True}
    told = conclude_round({"diagnostics": diagnostics}, step=("Add a watch:", "holdfast aggregate"))
    assert told.word == "no verdict"
    assert "does not show whether a backdoor is in the model" in told.reason
    stopped = conclude_round({"diagnostics": {**diagnostics, "aggregated": False}}, step=("", None))
    assert stopped.headline == "Not aggregated: the model stays as it is"


def test_a_round_that_left_the_model_as_it_was_says_why():
    dropped = [{"client": number, "reason": "is a pickle" if number else "lacks 'w'"} for number in range(3)]
    diagnostics = {"clients": [], "dropped": dropped, "norms": None, "aggregated": False}
    diagnostics["notes"] = ["no usable update is left, after 3 were dropped"]
    told = conclude_round({"diagnostics": diagnostics}, step=("", None))
    assert told.reason == (
        "No usable update is left, after 3 were dropped. The reason for 2 clients: is a pickle."
    )
    diagnostics["notes"] = ["this is a hearing: nothing is applied until all were heard"]
    hearing = {"diagnostics": diagnostics, "verdicts": Verdicts(1, hearing=True).as_dict()}
    told = conclude_round(hearing, step=("", None))
    assert told.reason == "This is a hearing: nothing is applied until all were heard."


def test_the_next_training_has_the_seed_of_this_one():
    typed = Typed("digits", "edge-case", seed=3)
    assert "--seed 3" in after_run("got in", "fedavg", typed)[1]
    assert "--seed " not in after_run("kept out", "median", typed)[1]  # a comparison counts its seeds from 0
