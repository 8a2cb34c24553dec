"""Robust: every rule as a Flower strategy, its state, reference, buffers, diagnostics and settings."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp.mod import LocalDpMod
from flwr.serverapp.strategy import FedAdam, FedAvg

from holdfast import (
    Aggregate,
    defend,
    factions,
    fedavg,
    flame,
    fltrust,
    invariant,
    krum,
    krum_trimmed_mean,
    median,
    multi_krum,
    sparsefed,
)
from holdfast.aggregators import bucketing, bulyan, nnm
from holdfast.errors import InputError
from holdfast.flower import Code, Robust

from ..rules import RULES, named
from .nodes import NODES, Federation, arrays_in, content, honest, model, one_round, record, trained

PARAMS = ("fc.weight", "bn.weight")


def nan(message):
    return content({**trained(11), "fc.weight": np.full((4, 3), np.nan, np.float32)})


def test_plain_averaging_gives_the_model_that_flowers_own_gives():
    behave = {
        node: lambda m: content(
            trained(m.metadata.dst_node_id), **{"num-examples": m.metadata.dst_node_id, "train_loss": 0.1}
        )
        for node in NODES
    }
    ours, our_metrics, _ = one_round(Robust(fedavg), behave)
    theirs, their_metrics, _ = one_round(FedAvg(), behave)
    for name in ours:
        if name != "bn.num_batches_tracked":  # which Flower averages into a float
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5, err_msg=name)
            assert ours[name].dtype == model()[name].dtype
    assert our_metrics["train_loss"] == pytest.approx(their_metrics["train_loss"])


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_every_rule_makes_of_the_replies_what_defend_makes_of_the_models(rule):
    def reference(arrays):
        return {name: values + np.asarray(0.1, values.dtype) for name, values in arrays.items()}

    found, metrics, _ = one_round(Robust(rule, reference=reference, seed=3), nodes=range(11, 20))
    result = defend(
        {node: trained(node) for node in range(11, 20)},
        rule,
        base=model(),
        weights=dict.fromkeys(range(11, 20), 10),
        reference={name: reference(model())[name] - values for name, values in model().items()},
        rng=np.random.default_rng([3, 1]),
    )
    assert [*found] == [*model()]
    for name, values in result.model.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert metrics["holdfast-aggregated"] == 1


def test_buffers_are_medians_and_counters_lower_medians_whatever_the_rule():
    found, _, _ = one_round(Robust(invariant), nodes=NODES[:4])
    sent = [trained(node) for node in NODES[:4]]
    for name in ("bn.running_mean", "bn.running_var"):
        np.testing.assert_allclose(found[name], np.median([s[name] for s in sent], axis=0), rtol=1e-6)
    assert found["bn.num_batches_tracked"] == 12
    assert found["bn.num_batches_tracked"].dtype == np.int64


def test_which_arrays_are_buffers_can_be_said_by_pattern():
    strategy = Robust(sparsefed, buffers="bn.*")
    found, _, _ = one_round(strategy)
    np.testing.assert_allclose(
        found["bn.weight"], np.median([trained(node)["bn.weight"] for node in NODES], axis=0), rtol=1e-6
    )
    assert one_round(Robust(sparsefed, buffers=()))[1]["holdfast-kept-fraction"] == 0.04167


def test_an_attacker_with_a_boosted_update_has_no_say_and_shows():
    def boosted(message):
        sent = trained(11)
        return content(
            {
                name: (own - 1000 * (sent[name] - own)).astype(own.dtype) if name in PARAMS else sent[name]
                for name, own in model().items()
            }
        )

    strategy = Robust(invariant(alpha=0.25))
    found, metrics, _ = one_round(strategy, {11: boosted})
    assert np.abs(found["fc.weight"] - model()["fc.weight"]).max() < 0.2
    opposed = dict(zip(metrics["holdfast-nodes"], metrics["holdfast-opposed"], strict=True))
    trimmed = dict(zip(metrics["holdfast-nodes"], metrics["holdfast-trimmed"], strict=True))
    assert opposed[11] == 1.0
    assert trimmed[11] == 1.0
    assert max(opposed[node] for node in NODES[1:]) < 0.5
    assert metrics["holdfast-kept-fraction"] > 0.5
    assert "opposed" in str(strategy.diagnostics)


def test_without_explain_nodes_are_not_measured():
    metrics = one_round(Robust(invariant, explain=False))[1]
    assert "holdfast-opposed" not in metrics
    assert "holdfast-kept-fraction" in metrics


def test_the_state_of_a_rule_goes_from_round_to_round_and_stays_when_one_fails():
    strategy = Robust(sparsefed(kept=0.1))
    base, errors = model(), []
    for number in (1, 2, 3):
        base, _, _ = one_round(strategy, dict.fromkeys(NODES, nan) if number == 2 else {}, base=base)
        errors.append(strategy._state.rule.error.copy())
    assert errors[0].any()
    np.testing.assert_array_equal(errors[0], errors[1])
    assert not np.array_equal(errors[1], errors[2])
    fresh, _, _ = one_round(Robust(sparsefed(kept=0.1)), base=base)
    assert not np.array_equal(fresh["fc.weight"], base["fc.weight"])


def test_the_last_update_goes_to_a_rule_that_asks_for_it():
    seen = []

    def watching(updates, *, previous=None):
        seen.append(previous)
        return median(updates)

    strategy = Robust(watching)
    base, _, _ = one_round(strategy)
    one_round(strategy, base=base)
    assert seen[0] is None
    step = [(base[part] - model()[part]).ravel() for part in PARAMS]
    np.testing.assert_allclose(seen[1], np.concatenate(step), rtol=1e-4, atol=1e-6)


def test_the_reference_function_gets_the_model_and_gives_it_trained():
    given = []

    def own_training(arrays):
        given.append(arrays)
        arrays["fc.weight"] += 0.1  # may be written to: it is a copy
        return list(arrays.values())

    found, metrics, _ = one_round(Robust(fltrust, reference=own_training))
    assert list(given[0]) == list(model())
    assert metrics["holdfast-aggregated"] == 1
    assert (found["fc.weight"] > model()["fc.weight"]).all()


def test_a_reference_of_another_form_is_an_error_of_the_caller():
    for returned in ({}, [], {**model(), "fc.weight": np.zeros(2)}):
        with pytest.raises(InputError, match=r"reference must return the whole model .* 'fc.weight'"):
            one_round(Robust(fltrust, reference=lambda arrays, returned=returned: returned))


def test_the_server_does_not_train_for_a_round_that_too_few_answered():
    called = []
    strategy = Robust(fltrust, reference=lambda arrays: called.append(1) or arrays)
    metrics = one_round(strategy, dict.fromkeys(NODES[:3], lambda message: None))[1]
    assert metrics["holdfast-aggregated"] == 0
    assert not called


@pytest.mark.parametrize("n_bad", [3, 4, 5])
def test_with_too_few_good_replies_the_model_stays_loudly(n_bad, caplog):
    found, metrics, _ = one_round(Robust(fedavg), dict.fromkeys(NODES[:n_bad], nan))
    assert metrics["holdfast-aggregated"] == 0
    assert metrics["holdfast-dropped-codes"] == [Code.VALUES] * n_bad
    assert "the model stays as it is" in caplog.text
    for name, values in model().items():
        np.testing.assert_array_equal(found[name], values)


def test_how_few_are_too_few_can_be_said():
    assert one_round(Robust(fedavg, min_replies=1), dict.fromkeys(NODES[:4], nan))[1]["holdfast-used"] == 1


def test_too_few_for_the_rule_leaves_the_model_too(caplog):
    found, metrics, _ = one_round(Robust(krum(n_malicious=1)), nodes=NODES[:3])
    assert metrics["holdfast-aggregated"] == 0
    assert "krum needs n >= f + 3" in caplog.text
    np.testing.assert_array_equal(found["fc.weight"], model()["fc.weight"])


def test_a_model_that_would_not_be_finite_is_not_taken(caplog):
    def huge(updates):
        return Aggregate([np.full_like(part, 3e38) for part in median(updates).update])

    base = {
        name: values + np.asarray(3e38 * (name in PARAMS), values.dtype) for name, values in model().items()
    }
    found, metrics, _ = one_round(Robust(huge), base=base)
    assert metrics["holdfast-aggregated"] == 0
    assert "would not be finite" in caplog.text
    np.testing.assert_array_equal(found["fc.weight"], base["fc.weight"])


def test_nodes_that_send_other_floats_are_welcome_and_the_model_keeps_its_type():
    def wide(message):
        sent = trained(message.metadata.dst_node_id)
        return content({name: v.astype(np.float64) if v.dtype.kind == "f" else v for name, v in sent.items()})

    def fortran(message):
        sent = trained(12)
        return content({**sent, "fc.weight": np.asfortranarray(sent["fc.weight"])})

    def big_endian(message):
        return content({name: v.astype(v.dtype.newbyteorder(">")) for name, v in trained(13).items()})

    found, metrics, _ = one_round(Robust(invariant), {11: wide, 12: fortran, 13: big_endian})
    plain, _, _ = one_round(Robust(invariant))
    assert metrics["holdfast-used"] == 5
    for name, values in plain.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6)
        assert found[name].dtype == values.dtype


def test_a_model_of_scalars_half_precision_and_empty_arrays_is_aggregated():
    base = {"scale": np.array(2.0), "none": np.zeros((0, 3), np.float32), "half": np.ones(3, np.float16)}
    behave = {
        node: lambda message: content({k: v + np.asarray(0.5, v.dtype) for k, v in base.items()})
        for node in NODES
    }
    found, metrics, _ = one_round(Robust(invariant), behave, base=base)
    assert metrics["holdfast-aggregated"] == 1
    assert found["scale"] == 2.5
    assert found["half"].tolist() == [1.5] * 3
    assert {name: values.dtype for name, values in found.items()} == {k: v.dtype for k, v in base.items()}


def test_nodes_that_add_noise_of_their_own_are_welcome():
    noisy = LocalDpMod(clipping_norm=10.0, sensitivity=0.01, epsilon=10.0, delta=1e-3)
    context = Context(run_id=1, node_id=1, node_config={}, state=RecordDict(), run_config={})
    base = {name: model()[name] for name in PARAMS}

    def behave(message):
        sent = {name: values + np.float32(0.1) for name, values in base.items()}
        return noisy(message, context, lambda told, _: Message(content(sent), reply_to=told)).content

    found, metrics, _ = one_round(Robust(median), dict.fromkeys(NODES, behave), base=base)
    assert metrics["holdfast-used"] == 5
    np.testing.assert_allclose(found["fc.weight"] - base["fc.weight"], 0.1, atol=0.1)


def test_a_training_runs_from_start_to_end():
    result = Robust(invariant).start(
        Federation({11: nan}),
        record(model()),
        num_rounds=3,
        evaluate_fn=lambda number, arrays: MetricRecord({"seen": number}),
    )
    assert [*result.train_metrics_clientapp] == [*result.evaluate_metrics_clientapp] == [1, 2, 3]
    assert [r["seen"] for r in result.evaluate_metrics_serverapp.values()] == [0, 1, 2, 3]
    moved = arrays_in(result.arrays)["fc.weight"] - model()["fc.weight"]
    np.testing.assert_allclose(moved, 0.3, atol=0.1)


def test_a_second_training_with_the_same_strategy_starts_without_the_state_of_the_first():
    strategy = Robust(sparsefed)
    first = strategy.start(Federation(), record(model()), num_rounds=2)
    again = strategy.start(Federation(), record(model()), num_rounds=2)
    assert arrays_in(first.arrays)["fc.weight"].tobytes() == arrays_in(again.arrays)["fc.weight"].tobytes()


def test_a_training_that_is_switched_off_says_nothing():
    strategy = Robust(invariant, fraction_train=0.0, fraction_evaluate=0.0)
    result = strategy.start(Federation(), record(model()), num_rounds=1)
    assert result.train_metrics_clientapp == {}
    np.testing.assert_array_equal(arrays_in(result.arrays)["fc.weight"], model()["fc.weight"])


def test_nodes_are_sampled_as_flower_samples_and_configured_as_it_configures():
    strategy = Robust(invariant, fraction_train=0.4, min_train_nodes=3, configrecord_key="settings")
    federation = Federation()
    messages = strategy.configure_train(7, record(model()), ConfigRecord({"lr": 0.1}), federation)
    assert len(messages) == 3
    assert messages[0].content["settings"] == {"lr": 0.1, "server-round": 7}


def test_a_count_under_another_key_is_read_there():
    behave = {node: lambda m: content(trained(12), images=5, **{"num-examples": None}) for node in NODES}
    metrics = one_round(Robust(invariant, weighted_by_key="images"), behave)[1]
    assert metrics["holdfast-used"] == 5
    assert "images" not in metrics


def test_what_the_caller_sets_wrongly_raises():
    with pytest.raises(InputError, match="did you mean 'fraction_train'"):
        Robust(invariant, fraction_trian=0.5)
    with pytest.raises(InputError, match="fltrust needs the server's own update: pass reference="):
        Robust(fltrust)
    with pytest.raises(InputError, match="inner must be a Flower strategy"):
        Robust(invariant, inner=FedAvg)
    with pytest.raises(InputError, match="fraction_train: with inner="):
        Robust(invariant, inner=FedAvg(), fraction_train=0.5)
    with pytest.raises(InputError, match="krum needs n_malicious"):
        Robust(krum)
    with pytest.raises(InputError, match="min_replies"):
        Robust(invariant, min_replies=0)
    with pytest.raises(InputError, match="alpha, the share trimmed"):
        Robust(invariant(alpha=0.5))
    with pytest.raises(InputError, match="hearing, how often"):
        Robust(invariant, watch=factions(hearing=-1))
    with pytest.raises(InputError, match="false_alarms"):
        Robust(invariant, watch=factions(false_alarms=5))
    with pytest.raises(InputError, match="seed must be a whole number of at least 0; got 'x'"):
        Robust(flame, seed="x")
    with pytest.raises(InputError, match="resume=True needs checkpoint="):
        Robust(invariant, resume=True)
    with pytest.raises(InputError, match="aggregate_train came before configure_train"):
        Robust(invariant).aggregate_train(1, [])


@pytest.mark.parametrize(
    ("rule", "sampling", "least"),
    [
        (krum_trimmed_mean(n_malicious=50), "min_available_nodes", 103),
        (multi_krum(n_malicious=1), "min_available_nodes", 5),
        (bulyan(n_malicious=2), "min_train_nodes", 11),
        (nnm(n_malicious=2, rule=krum(n_malicious=4)), "min_train_nodes", 11),
        (bucketing(size=2, rule=krum(n_malicious=4)), "min_train_nodes", 21),
        (multi_krum(n_malicious=1, n_selected=12), "min_available_nodes", 12),
    ],
    ids=str,
)
def test_more_attackers_than_the_smallest_round_withstands_are_refused(rule, sampling, least):
    with pytest.raises(InputError, match="min_available_nodes, fraction_train and min_train_nodes"):
        Robust(rule, **{sampling: least - 1})
    Robust(rule, **{sampling: least})


def test_the_smallest_round_is_that_of_the_strategy_which_samples():
    rule = krum_trimmed_mean(n_malicious=4)
    Robust(rule)  # Flower's own settings say nothing of the federation
    with pytest.raises(InputError, match=r"needs 11 clients .* as few as 10"):
        Robust(rule, fraction_train=0.1, min_available_nodes=100)
    with pytest.raises(InputError, match="as few as 10"):
        Robust(rule, inner=FedAdam(min_train_nodes=10))
    Robust(rule, inner=FedAdam(min_train_nodes=10), min_replies=11)  # smaller rounds are not aggregated
    Robust(rule, min_available_nodes=5, fraction_train=0.0)  # nobody trains


def test_a_global_model_that_makes_no_sense_is_an_error_of_the_caller():
    for array, says in [
        (Array(np.array([np.nan])), "NaN or infinite"),
        (Array(np.array([1])), "no numbers that a rule could aggregate"),
        (Array("float32", (1,), "torch", b""), "'w' cannot be read: serialised as torch"),
    ]:
        with pytest.raises(InputError, match=says):  # before any node has trained it
            Robust(invariant).configure_train(1, ArrayRecord({"w": array}), ConfigRecord(), Federation())


def test_robust_takes_every_argument_that_fedavg_takes():
    for name, parameter in inspect.signature(FedAvg).parameters.items():
        strategy = Robust(invariant, **{name: parameter.default})
        assert vars(strategy.inner)[name] == vars(FedAvg(**{name: parameter.default}))[name]


def test_without_flower_the_extra_is_named():
    code = "import sys; sys.modules['flwr'] = None; import holdfast.flower"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "pip install '.[flower]'" in done.stderr


def test_honest_nodes_only_are_all_used():
    assert one_round(Robust(invariant), dict.fromkeys(NODES, honest))[1]["holdfast-dropped"] == 0
