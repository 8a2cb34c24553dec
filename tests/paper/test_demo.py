import pytest

from holdfast.paper.demo import DEFENCES, HONEST, demo_experiments, findings

N_ROUNDS = 4


def test_both_experiments_have_every_defence_and_one_row_without_attackers():
    experiments = demo_experiments(seed=3, n_rounds=2)
    assert [experiment.title for experiment in experiments] == ["Phishing mail", "Handwritten digits"]
    for experiment in experiments:
        assert experiment.rows == tuple(DEFENCES)
        runs = {cell.row: run for cell in experiment.cells for run in cell.runs}
        assert {run.seed for run in runs.values()} == {3}
        assert {run.task.n_rounds for run in runs.values()} == {2}
        assert runs.pop(HONEST).attack.n_malicious == 0
        assert [run.defence.name for run in runs.values()] == list(DEFENCES)[1:]
        assert all(run.attack.n_malicious * 5 == run.task.n_clients for run in runs.values())


def test_the_same_rule_is_shown_with_the_watch_and_without():
    runs = {cell.row: run for cell in demo_experiments()[0].cells for run in cell.runs}
    alone, watched = runs["trimmed_mean"].defence, runs["factions+trimmed_mean"].defence
    assert alone.aggregate == watched.aggregate
    assert alone.watch is None
    assert watched.watch is not None


def watch(since, n_wronged, hearings):
    """Return the document of a run in which clients 0, 1, 2 attack; [client] the round of its expulsion."""
    clients = list(range(5))
    said = {"client": clients, "standing": ["clear"] * 5, "since": [since.get(client) for client in clients]}
    return {
        "watch": {
            "rounds": [{"round": N_ROUNDS, "clients": said}],
            "malicious": [0, 1, 2],
            "hearings": hearings,
        },
        "series": {"n_wronged": n_wronged},
    }


def measured(numbers, *, since=None, n_wronged=(0,), hearings=()):
    """Return the document of a demo in which each row has this accuracy and attack success, task by task."""

    def cell(row, accuracy, success):
        means = {"accuracy": {"mean": accuracy}, "attack_success": {"mean": success}}
        return {"row": row, "measured": means, "keys": [row]}

    tasks = len(next(iter(numbers.values())))
    shown = [{"cells": [cell(row, *own[place]) for row, own in numbers.items()]} for place in range(tasks)]
    runs = {row: {} for row in numbers} | {"factions+trimmed_mean": watch(since or {}, n_wronged, hearings)}
    return {"experiments": shown, "runs": runs}


def found(numbers=None, **watched):
    """Return the findings: honest clients reach .95 on one task and .9 on the other."""
    honest = {HONEST: [(0.95, 0.01), (0.9, 0.0)]}
    rows = {row: [(0.9, 0.9), (0.9, 0.9)] for row in list(DEFENCES)[1:]} | (numbers or {})
    return findings(demo_experiments(n_rounds=1), measured({**honest, **rows}, **watched))


@pytest.mark.parametrize(
    ("accuracy", "success", "word"),
    [
        (0.9, 0.05, "kept out"),
        (0.9, 0.4, "half in"),
        (0.9, 0.9, "let in"),
        (0.5, 0.0, "hardly learns"),
        (0.5, 0.9, "let in"),
    ],
)
def test_a_verdict_needs_both_learning_and_keeping_out(accuracy, success, word):
    words = found({"invariant": [(accuracy, success), (0.9, 0.0)]}).verdicts
    assert words[0][HONEST] == ""
    assert words[0]["invariant"] == word
    assert words[1]["invariant"] == "kept out"


def test_the_defence_to_take_keeps_the_backdoor_out_of_every_task():
    one_task = {"invariant": [(0.95, 0.0), (0.9, 0.9)]}
    told = found({**one_task, "factions+trimmed_mean": [(0.94, 0.1), (0.89, 0.0)]})
    assert told.advice == (
        "Take factions+trimmed_mean: the backdoor works in 10.0% and 0.0% of the cases, and 94.0% and 89.0%"
        " of the answers are correct (95.0% and 90.0% without attackers)."
    )
    assert told.code == (
        "defend(models, trimmed_mean(alpha=0.25), watch=factions(), base=model, clients=ids, state=state)"
    )


def test_of_several_the_one_that_is_best_at_its_worst_is_taken_watch_or_not():
    both = {"trimmed_mean": [(0.9, 0.0), (0.9, 0.1)], "factions+trimmed_mean": [(0.9, 0.15), (0.9, 0.0)]}
    told = found(both)
    assert told.advice.startswith("Take trimmed_mean:")
    assert "watch=" not in told.code


def test_no_defence_is_praised_that_does_not_hold():
    told = found({"invariant": [(0.9, 0.0), (0.9, 0.5)]})
    assert told.advice.startswith("None of these defences keeps the backdoor out of every task")
    assert told.code is None


@pytest.mark.parametrize(
    ("since", "n_wronged", "words"),
    [
        ({}, [0, 0], "0 of the 3 attackers that took part, and no honest client."),
        ({0: 2, 1: 2}, [0, 0], "2 of the 3 attackers that took part, in round 2, and no honest client."),
        (
            {0: 3, 1: 2, 2: 4},
            [0],
            "3 of the 3 attackers that took part, the first in round 2, the last in 4, and",
        ),
        ({4: 3}, [0, 1], "0 of the 3 attackers that took part, and 1 honest client."),
        ({4: 3}, [2, 1], "and at times 2 honest clients, at the end 1."),
        ({}, [2, 0], "and at times 2 honest clients, at the end none."),
    ],
)
def test_whom_the_watch_found_is_told_with_those_it_wronged(since, n_wronged, words):
    told = found(since=since, n_wronged=n_wronged).found
    assert len(told) == 2
    assert told[0].startswith("the watch expelled ")
    assert words in told[0]


def test_a_model_that_did_not_move_at_first_is_explained():
    (told, _) = found(hearings=[1, 2, 3]).found
    assert told.endswith(
        "and no honest client; in its hearing, the first 3 rounds, the model stayed as it was."
    )
