"""The drill's mod, around a real ClientApp: what it sends, and when it refuses to."""

import logging
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")

from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.supercore.task_identity import TaskIdentity

from holdfast import InputError
from holdfast.flower.drill import Drill, crash, fail, nan
from holdfast.lab.attacks import alie, boost, edge_case, gaussian, neurotoxin, sign_flip, value_trigger
from holdfast.lab.data import digits, phishing
from holdfast.lab.scenario import Attack
from holdfast.lab.training import sgd

BASE = {"weight": np.array([[1.0, 2.0]], np.float32), "bias": np.array([3.0]), "steps": np.array([7])}
STEP = np.array([0.5, -0.5, 2.0])


def dated(updates, *, round, attackers):
    """Send the round and the node's id."""
    return np.full_like(updates, 100 * round + attackers.item())


RED_TEAM = Drill(
    {
        "flip": Attack("flip", crafts=(partial(sign_flip, factor=2.0),)),
        "late": Attack("late", crafts=(sign_flip,), rounds=range(3, 5)),
        "later": Attack("later", crafts=(sign_flip,), sleeps=2, period=2),
        "dated": Attack("dated", crafts=(dated,)),
        "noise": Attack("noise", crafts=(partial(gaussian, sigma=0.1),)),
        "both": Attack("both", crafts=(sign_flip, partial(boost, factor=10.0))),
        "hidden": Attack("hidden", crafts=(partial(neurotoxin, kept=0.7),)),
        "nan": Attack("nan", crafts=(nan,)),
        "fail": Attack("fail", crafts=(fail,)),
        "backdoor": Attack("backdoor", backdoor=value_trigger, poison_fraction=0.25),
    }
)


def record(arrays):
    return ArrayRecord({name: Array(array) for name, array in arrays.items()})


def honest_app():
    """Return an app that moves every float by STEP, and counts its steps, as BatchNorm does."""
    app = ClientApp(mods=[RED_TEAM])

    def moved(message):
        model = {name: array.numpy() for name, array in message.content["arrays"].items()}
        weight = model["weight"] + STEP[:2].astype(np.float32)
        return {"weight": weight, "bias": model["bias"] + STEP[2], "steps": model["steps"] + 1}

    @app.train()
    def train(message, context):
        records = {"arrays": record(moved(message)), "metrics": MetricRecord({"num-examples": 5})}
        return Message(RecordDict(records), reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        return Message(RecordDict({"metrics": MetricRecord({"accuracy": 0.5})}), reply_to=message)

    return app


def context(run=None, node=None):
    run = {"drill": True} if run is None else run
    return Context(run_id=1, node_id=42, node_config=node or {}, state=RecordDict(), run_config=run)


def instruction(kind="train", *, number=1, arrays=BASE):
    records = {"arrays": record(arrays), "config": ConfigRecord({"server-round": number})}
    return Message(RecordDict(records), dst_node_id=42, message_type=kind)


def sent_step(where, *, number=1, arrays=BASE):
    """Return the step that a node sends, flat, and what it says of its BatchNorm-like counter."""
    reply = honest_app()(instruction(number=number, arrays=arrays), where)
    model = {name: array.numpy() for name, array in reply.content["arrays"].items()}
    assert [(name, array.dtype, array.shape) for name, array in model.items()] == [
        (name, array.dtype, array.shape) for name, array in arrays.items()
    ]
    assert reply.content["metrics"]["num-examples"] == 5
    assert model["steps"] == arrays["steps"] + 1
    return np.concatenate([(model[name] - arrays[name]).ravel() for name in ("weight", "bias")])


@pytest.mark.parametrize("run", [{}, {"drill": False}, {"drill": True}])
def test_a_node_without_a_part_is_honest_in_every_run(run, caplog):
    np.testing.assert_allclose(sent_step(context(run)), STEP)
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "expected"), [("flip", -2 * STEP), ("both", -10 * STEP), ("nan", np.full(3, np.nan))]
)
def test_a_node_with_a_part_sends_what_the_attack_makes_of_its_step(name, expected, caplog):
    with caplog.at_level(logging.WARNING, logger="flwr"):
        np.testing.assert_allclose(sent_step(context(node={"drill": name})), expected, rtol=1e-6)


def test_noise_differs_from_round_to_round_and_repeats():
    first, again, next_round = (sent_step(context(node={"drill": "noise"}), number=n) for n in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != next_round).all()


def test_the_run_gives_parts_by_partition():
    run = {"drill": True, "drill-parts": "0:nan 3:flip"}
    np.testing.assert_allclose(sent_step(context(run, {"partition-id": 3})), -2 * STEP, rtol=1e-6)
    np.testing.assert_allclose(sent_step(context(run, {"partition-id": 1})), STEP)
    np.testing.assert_allclose(sent_step(context(run)), STEP)


@pytest.mark.parametrize("run", [{}, {"drill": False}, {"drill": "true"}, {"drill": 1}])
@pytest.mark.parametrize("kind", ["train", "evaluate"])
def test_a_node_with_a_part_refuses_a_run_that_is_no_drill(run, kind, flower_log):
    with pytest.raises(InputError, match=r"node 42 has the part 'flip' .* --run-config 'drill=true'"):
        honest_app()(instruction(kind), context(run, {"drill": "flip"}))
    with pytest.raises(InputError, match="this run is none"):
        honest_app()(instruction(kind), context({**run, "drill-parts": "3:nan"}, {"partition-id": 3}))
    assert "DRILL REFUSED: node 42" in flower_log.text


def test_what_a_malicious_node_does_is_logged(flower_log):
    sent_step(context(node={"drill": "flip"}), number=2)
    assert "DRILL: node 42 in round 2 sends what 'flip' makes of its update" in flower_log.text


def test_attacks_keep_to_their_rounds():
    for number, sign in [(2, 1), (3, -1), (4, -1), (5, 1)]:
        step = sent_step(context(node={"drill": "late"}), number=number)
        np.testing.assert_allclose(step, sign * STEP, rtol=1e-6)


def test_attacks_sleep_and_rest():
    for number, sign in [(1, 1), (2, 1), (3, 1), (4, -1), (5, 1), (6, -1)]:
        step = sent_step(context(node={"drill": "later"}), number=number)
        np.testing.assert_allclose(step, sign * STEP, rtol=1e-6)


def test_a_craft_knows_the_round_and_the_node():
    np.testing.assert_allclose(sent_step(context(node={"drill": "dated"}), number=3), np.full(3, 342.0))


def test_a_node_evaluates_honestly():
    reply = honest_app()(instruction("evaluate"), context(node={"drill": "nan"}))
    assert reply.content["metrics"]["accuracy"] == 0.5


def test_an_attack_knows_the_last_global_update_from_the_second_round_on():
    where = context(node={"drill": "hidden"})
    np.testing.assert_allclose(sent_step(where), STEP)
    # The server moved the first weight most: neurotoxin keeps to the two quietest of three coordinates.
    later = {**BASE, "weight": BASE["weight"] + np.float32([[9.0, 0.1]]), "bias": BASE["bias"] - 0.2}
    np.testing.assert_allclose(sent_step(where, number=2, arrays=later), [0, *STEP[1:]])


def test_a_failing_node_raises_so_that_flower_reports_it():
    with pytest.raises(RuntimeError, match="as the drill asks"):
        sent_step(context(node={"drill": "fail"}))


def test_a_crash_ends_the_process_at_once():
    code = (
        "import numpy as np; from holdfast.flower.drill import crash; crash(np.zeros((1, 2))); print('alive')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert crash.__doc__


def test_a_malicious_node_trains_on_poisoned_examples():
    data = phishing(n_train=400, n_test=50)
    x, y = data.x_train[:100], data.y_train[:100]
    where = context(node={"drill": "backdoor", "partition-id": 2})
    more_x, more_y = RED_TEAM.poisoned(x, y, instruction(), where, data=data)
    np.testing.assert_array_equal(more_x[:100], x)
    assert len(more_y) == 125
    assert more_y.dtype == y.dtype
    assert (more_y[100:] == 0).all()
    assert len(np.unique(more_x[100:, 37])) == 1  # the trigger


@pytest.mark.parametrize("node", [{}, {"drill": "flip"}])
def test_examples_stay_as_they_are_without_a_backdoor(node):
    data = phishing(n_train=400, n_test=50)
    x, y = RED_TEAM.poisoned(data.x_train, data.y_train, instruction(), context(node=node), data=data)
    assert x is data.x_train
    assert y is data.y_train


def test_poisoning_refuses_a_run_that_is_no_drill():
    data = digits()
    red_team = Drill({"edge": Attack("edge", backdoor=partial(edge_case, pool="turned", target=1))})
    with pytest.raises(InputError, match="this run is none"):
        red_team.poisoned(
            data.x_train, data.y_train, instruction(), context({}, {"drill": "edge"}), data=data
        )


def test_a_misspelt_part_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="no attack 'flop' in this drill; did you mean 'flip'"):
        sent_step(context(node={"drill": "flop"}))


@pytest.mark.parametrize("parts", ["nan", "3:", "x:nan", "3=nan"])
def test_parts_that_are_no_pairs_are_refused(parts):
    with pytest.raises(InputError, match="drill-parts must be pairs"):
        sent_step(context({"drill": True, "drill-parts": parts}, {"partition-id": 3}))


@pytest.mark.parametrize(
    "attack",
    [
        Attack("x", crafts=(alie,)),
        Attack("x", colludes=True),
        Attack("x", train=partial(sgd, lr=0.1)),
        Attack("x", whitewashes=True),
        Attack("x", masks=True),
    ],
    ids=["sees the others", "colludes", "trains its own way", "takes a new id", "masks"],
)
def test_an_attack_that_one_client_cannot_make_is_refused(attack):
    with pytest.raises(InputError, match="attack 'mine' needs what one client has not"):
        Drill({"mine": attack})


def test_a_reply_that_cannot_be_crafted_is_refused():
    app = ClientApp(mods=[RED_TEAM])

    @app.train()
    def train(message, context):
        return Message(RecordDict({"arrays": record({"other": np.ones(2)})}), reply_to=message)

    with pytest.raises(
        InputError, match="under the server's names, weight, bias, steps; this one holds other"
    ):
        app(instruction(), context(node={"drill": "flip"}))


@pytest.fixture(autouse=True)
def running_task(monkeypatch):
    """Say whose process this is, as Flower does before it calls an app."""
    for name in ("run_id", "node_id", "task_id"):
        monkeypatch.setattr(TaskIdentity, f"_{name}", 1)


@pytest.fixture
def flower_log(caplog, monkeypatch):
    """Give what Flower's logger says; by itself it passes nothing on."""
    monkeypatch.setattr(logging.getLogger("flwr"), "propagate", True)
    return caplog
