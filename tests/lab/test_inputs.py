"""What a user's own functions return: a mistake of theirs is refused where it enters, in one sentence."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from holdfast import InputError, fedavg
from holdfast.lab.attacks import Backdoor
from holdfast.lab.data.split import everything
from holdfast.lab.models import mlp
from holdfast.lab.scenario import Attack, Defence, Run
from holdfast.lab.simulation import simulate
from holdfast.paper.studies import rules_on_a_round
from holdfast.paper.studies.starts import AfterRounds
from holdfast.runs.recording import data_checksum

from ..toy import TOY, idle, table

NEEDED = "the network must return a score for each of the labels 0 to 1"


@pytest.mark.parametrize(
    ("loaded", "got"), [(None, "None"), ((1, 2, 3, 4), "a value of type tuple"), (np.ones(2), "an array of")]
)
def test_a_loader_that_returns_no_data_set_is_named(loaded, got):
    def mine():
        return loaded

    with pytest.raises(InputError, match=rf"mine must return a holdfast\.lab\.data\.Dataset.*; got {got}"):
        first_round(replace(TOY, data=mine))
    with pytest.raises(InputError, match="mine must return"):
        data_checksum(replace(TOY, data=mine).data)


def n_train(n):
    return partial(table, n_train=n)


def test_examples_that_the_server_took_are_named():
    with pytest.raises(InputError, match=r"the server holds 20 of 20 training examples \(n_root=20\), which"):
        first_round(replace(TOY, data=n_train(20)))
    with pytest.raises(InputError, match="got 4; the server holds 20 of 24 training examples"):
        first_round(replace(TOY, data=n_train(24)))
    with pytest.raises(InputError, match="leaves 0 for 10 clients: set a smaller n_root"):
        first_round(replace(TOY, data=n_train(5), split=everything))


class Squeezed(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 1)

    def forward(self, x):
        return super().forward(x).squeeze(1)


def first_round(task, **parts):
    return next(simulate(Run(task, **parts)))[0]


@pytest.mark.parametrize("network", [partial(mlp, sizes=(4, 6, 1)), Squeezed])
def test_a_network_without_a_score_for_every_label_is_refused(network):
    with pytest.raises(InputError, match=NEEDED):
        first_round(replace(TOY, model=network))
    with pytest.raises(InputError, match=NEEDED):
        rules_on_a_round(Run(replace(TOY, model=network)), rules=(fedavg,), start=AfterRounds(0))


def test_a_prediction_of_ones_own_may_read_scores_as_it_likes():
    def above_zero(scores):
        return scores[:, 0] > 0

    task = replace(TOY, model=partial(mlp, sizes=(4, 6, 1)), train=idle, warm_epochs=1)
    assert 0 < first_round(task, defence=Defence("own", predict=above_zero)).accuracy < 1


def ones(x, y, count, attacker, rng):
    return np.ones((count, 4))


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (lambda updates: None, "got None"),
        (lambda updates: 1.0, "got a value of type float"),
        (lambda updates: updates[0], r"got an array of shape \(44,\) and type float32"),
        (lambda updates: updates[:, :3], r"got an array of shape \(4, 3\)"),
        (lambda updates: updates[:1], r"got an array of shape \(1, 44\)"),
        (lambda updates: updates.astype(str), r"got an array of shape \(4, 44\) and type <U32"),
        (lambda updates: [row[: i + 1] for i, row in enumerate(updates)], "got a value of type list"),
    ],
)
def test_a_craft_that_returns_no_row_per_attacker_is_named(returned, got):
    def careless(updates):
        return returned(updates)

    attack = Attack("own", 4, crafts=(careless,))
    with pytest.raises(InputError, match=rf"careless must return numbers of the shape \(4, 44\); {got}"):
        first_round(replace(TOY, n_per_round=10), attack=attack)


def test_a_craft_may_return_a_list_or_numbers_that_are_none():
    def hostile(updates):
        return [[np.nan] * len(row) for row in updates]

    record = first_round(replace(TOY, n_per_round=10), attack=Attack("own", 4, crafts=(hostile,)))
    assert len(record.diagnostics.dropped) == record.n_attackers == 4


@pytest.mark.parametrize(
    ("made", "needed"),
    [
        (
            (0, ones, np.ones((2, 4))),
            r"own must return a Backdoor\(target, poison, challenge\); got a value of type tuple",
        ),
        (Backdoor(9, ones, np.ones((2, 4))), "the target of own must be a whole number from 0 to 1; got 9"),
        (Backdoor(0.5, ones, np.ones((2, 4))), "the target of own must be a whole number"),
        (Backdoor(0, ones, np.ones((0, 4))), "the challenge of own must have at least one input"),
        (Backdoor(0, ones, np.ones((2, 3))), r"own, as its challenge, must return .* shape \(2, 4\); got"),
        (Backdoor(0, ones, None), r"as its challenge, must return numbers of the shape \(1, 4\); got None"),
        (
            Backdoor(0, lambda x, y, count, attacker, rng: x[:1], np.ones((2, 4))),
            r"the poison of own must return numbers of the shape \(9, 4\); got an array of shape \(1, 4\)",
        ),
        (Backdoor(0, lambda *_: None, np.ones((2, 4))), r"the poison of own must .* \(9, 4\); got None"),
    ],
)
def test_a_backdoor_that_cannot_be_learned_or_measured_is_refused(made, needed):
    def own(data):
        return made

    with pytest.raises(InputError, match=needed):
        first_round(TOY, attack=Attack("own", 4, own))


@pytest.mark.parametrize(
    ("truth", "needed"),
    [
        (None, "attackers cannot mask own: .* one more function"),
        (lambda *_: np.ones(3), r"own, as the labels of what it poisons, .* shape \(9,\); got"),
        (lambda x, y, count, attacker, rng: np.full(count, 2), "what own poisons must be .* 0 to 1; got"),
    ],
)
def test_masks_without_the_correct_labels_of_poisoned_examples_are_refused(truth, needed):
    def own(data):
        return Backdoor(0, ones, np.ones((2, 4)), truth=truth)

    with pytest.raises(InputError, match=needed):
        first_round(TOY, attack=Attack("own", 4, own, masks=True))
    assert first_round(TOY, attack=Attack("own", 4, own)).n_attackers > 0


def test_an_attacker_with_nothing_to_poison_may_return_no_example():
    def own(data):
        return Backdoor(0, lambda *_: [], np.ones((2, 4)))

    assert first_round(TOY, attack=Attack("own", 4, own)).n_attackers > 0


@pytest.mark.parametrize("fraction", [0.5, 2.0])
def test_a_backdoor_may_be_in_any_type_of_number_and_outnumber_the_clean(fraction):
    def own(data):
        return Backdoor(np.int64(0), ones, [[1, 1, 1, 1]])

    record = first_round(TOY, attack=Attack("own", 4, own, poison_fraction=fraction))
    assert record.attack_success in (0, 1)


@pytest.mark.parametrize(
    ("exposed", "needed"),
    [
        ((np.ones((2, 3)), [0, 0]), r"what is exposed, must return .* shape \(2, 4\); got .* shape \(2, 3\)"),
        ((np.ones((2, 4)), [0, 9]), r"the labels of what own exposes must be from 0 to 1; got \[0, 9\]"),
    ],
)
def test_exposed_examples_that_honest_clients_cannot_learn_are_refused(exposed, needed):
    def own(data):
        return Backdoor(0, ones, np.ones((2, 4)), exposed=[exposed])

    with pytest.raises(InputError, match=needed):
        first_round(TOY, attack=Attack("own", 4, own))


def test_a_challenge_with_nan_is_refused_and_one_that_is_read_only_taken():
    def own(data, *, value):
        return Backdoor(0, ones, np.broadcast_to(value, (2, 4)))

    assert first_round(TOY, attack=Attack("own", 4, partial(own, value=1.0))).attack_success is not None
    with pytest.raises(InputError, match="the challenge of own must be finite"):
        first_round(TOY, attack=Attack("own", 4, partial(own, value=np.nan)))


def test_a_minority_whose_examples_are_no_numbers_is_refused():
    def lost(examples):
        return examples * np.nan

    with pytest.raises(InputError, match="what lost returns must be finite"):
        first_round(replace(TOY, minority=lost, n_per_round=10))


@pytest.mark.parametrize(
    ("dealt", "needed"),
    [
        (lambda n: None, "mine must return positions for each of 10 clients; got None"),
        (lambda n: [np.arange(n)], "mine must return positions for each of 10 clients; got 1"),
        (lambda n: [np.arange(n)] + [[]] * 9, "mine, for client 1, must return at least one position"),
        (lambda n: [[n]] * 10, r"client 0, .* whole numbers from 0 to 179; .*, from 180 to 180"),
        (lambda n: [[0, -1]] * 10, "client 0, .* whole numbers from 0 to 179; .*, from -1 to 0"),
        (lambda n: [[0.0, 1.0]] * 10, r"client 0, .* got an array of shape \(2,\) and type float64"),
    ],
)
def test_a_split_that_gives_a_client_nothing_it_can_hold_is_named(dealt, needed):
    def mine(labels):
        return dealt(len(labels))

    with pytest.raises(InputError, match=needed):
        first_round(replace(TOY, split=mine))


def test_a_split_may_return_lists_or_masks():
    def listed(labels, *, n_clients):
        return [list(range(client, len(labels), n_clients)) for client in range(n_clients)]

    def masked(labels, *, n_clients):
        return [np.arange(len(labels)) % n_clients == client for client in range(n_clients)]

    one, other = (first_round(replace(TOY, split=split)) for split in (listed, masked))
    assert one.accuracy == other.accuracy


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (lambda scores: None, "got None"),
        (lambda scores: scores, r"got an array of shape \(50, 2\)"),
        (lambda scores: [0], "got a value of type list"),
    ],
)
def test_a_prediction_without_an_answer_per_example_is_named(returned, got):
    def mine(scores):
        return returned(scores)

    with pytest.raises(InputError, match=rf"mine must return numbers of the shape \(50,\); {got}"):
        first_round(TOY, defence=Defence("own", predict=mine))


@pytest.mark.parametrize(
    ("made", "needed"),
    [
        (lambda: None, r"mine must return a network, a torch\.nn\.Module; got None"),
        (torch.nn.Flatten, "has no parameter to train: 0 in all"),
        (lambda: torch.nn.Linear(4, 2).requires_grad_(False), "has no parameter to train: 2 in all"),
        (lambda: torch.nn.Linear(4, 2).double(), r"must be torch\.float32, .* torch\.float64: return"),
        (
            lambda: torch.nn.Linear(5, 2),
            r"the network cannot take examples of the shape \(4,\): RuntimeError",
        ),
    ],
)
def test_what_cannot_be_trained_on_the_examples_is_refused(made, needed):
    def mine():
        return made()

    with pytest.raises(InputError, match=needed):
        first_round(replace(TOY, model=mine))


def test_an_error_in_a_network_of_ones_own_is_told_with_its_place():
    class Mine(Squeezed):
        def forward(self, x):
            raise KeyError("gone")

    with pytest.raises(InputError, match=r"KeyError: 'gone', in forward \(test_inputs\.py, line \d+\)"):
        first_round(replace(TOY, model=Mine))
