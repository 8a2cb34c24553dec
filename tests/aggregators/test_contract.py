"""What holds for every rule."""

import inspect

import numpy as np
import pytest

import holdfast
from holdfast import Diagnostics, InputError, aggregators
from holdfast.core import Rule
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError, TooFewClientsError
from holdfast.updates import rows_of

from ..rules import RULES, call, inputs, named

every_rule = pytest.mark.parametrize("rule", RULES, ids=named)


def some_updates(n=9, dim=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)) + 0.3


def test_every_public_rule_is_listed():
    assert {rule.name for rule in RULES} == set(aggregators.__all__)
    at_the_door = {name for name in holdfast.__all__ if isinstance(getattr(holdfast, name), Rule)}
    assert at_the_door <= set(aggregators.__all__)
    assert len(at_the_door) == 19  # the front door stays narrow


@every_rule
def test_leaves_its_input_alone(rule):
    updates = some_updates()
    before = updates.copy()
    call(rule, updates).update[:] = 7
    np.testing.assert_array_equal(updates, before)


@every_rule
def test_repeats_bit_for_bit(rule):
    updates = some_updates()
    np.testing.assert_array_equal(call(rule, updates).update, call(rule, updates).update)


@every_rule
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_gives_back_the_type_it_got(rule, dtype):
    update = call(rule, some_updates().astype(dtype)).update
    assert update.dtype == dtype
    assert update.shape == (5,)


@every_rule
def test_gives_back_layers_for_layers(rule):
    updates = some_updates(dim=7)
    layers = [[row[:4].reshape(2, 2), row[4:]] for row in updates]
    given = inputs(7)
    given["reference"] = [given["reference"][:4].reshape(2, 2), given["reference"][4:]]
    got = rule(layers, **given).update
    assert [part.shape for part in got] == [(2, 2), (3,)]
    np.testing.assert_array_equal(np.concatenate([part.ravel() for part in got]), call(rule, updates).update)


@every_rule
def test_takes_models_with_a_base_as_it_takes_updates(rule):
    updates = np.round(some_updates() * 64) / 64  # sums with the base are then exact
    base = np.arange(5.0)
    from_models = call(rule, fitting(list(updates + base), base=base).rows).update
    np.testing.assert_array_equal(from_models, call(rule, updates).update)


@every_rule
def test_runs_for_one_client_or_says_that_it_cannot(rule):
    crowds = {"krum", "multi_krum", "multi_krum_cosine", "krum_trimmed_mean", "mean_variance_mask", "rlr"}
    crowds |= {"arc", "bucketing", "bulyan", "dnc", "multi_metrics", "nnm", "rflbat"}
    if rule.name in crowds:
        with pytest.raises(TooFewClientsError, match=rule.name):
            call(rule, some_updates(n=1))
    else:
        assert np.isfinite(call(rule, some_updates(n=1)).update).all()


@every_rule
def test_needs_a_client(rule):
    with pytest.raises(TooFewClientsError, match="at least 1 client"):
        rule([], **inputs(5))


@every_rule
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_refuses_a_non_finite_row_by_its_number(rule, bad):
    updates = some_updates()
    updates[3, 2] = bad
    with pytest.raises(NonFiniteError, match="row 3") as caught:
        call(rule, updates)
    assert caught.value.rows == (3,)


@every_rule
def test_refuses_rows_of_different_length_by_their_number(rule):
    with pytest.raises(InputError, match=r"row 1: wrong shape: \(4,\), not \(5,\)"):
        rule([np.ones(5), np.ones(4)], **inputs(5))


@every_rule
def test_refuses_whole_numbers(rule):
    with pytest.raises(InputError, match="wrong type: int64"):
        rule(np.ones((9, 5), dtype=np.int64), **inputs(5))


@every_rule
def test_tells_what_it_did(rule):
    said = call(rule, some_updates()).diagnostics
    assert isinstance(said, Diagnostics)
    assert said.rule == rule.name
    assert said.clients == tuple(range(9))
    assert said.norms is None
    assert said.consistency is None
    assert said.trimmed_share is None


@every_rule
def test_measures_each_client_when_asked(rule):
    updates = some_updates()
    result = call(rule, rows_of(updates, explain=True))
    said = result.diagnostics
    np.testing.assert_allclose(said.norms, np.linalg.norm(updates, axis=1))
    lengths = said.norms * np.linalg.norm(result.update)
    expected = np.divide(updates @ result.update, lengths, out=np.zeros(9), where=lengths > 0)
    np.testing.assert_allclose(said.cosines, expected, atol=1e-12)
    majority = np.sign(np.sign(updates).sum(axis=0))
    np.testing.assert_allclose(said.opposed_share, (np.sign(updates) * majority < 0).mean(axis=1))
    assert said.consistency.sum() == 5
    np.testing.assert_array_equal(result.update, call(rule, updates).update)
    assert str(said)


@every_rule
def test_has_a_docstring_with_a_paper_and_an_example(rule):
    text = inspect.getdoc(rule.function)
    assert ">>> " in text
    assert "https://" in text  # arXiv where the paper is there, else its DOI


@every_rule
def test_keeps_to_the_signature_of_a_rule(rule):
    first, *others = inspect.signature(rule.function).parameters.values()
    assert first.name == "updates"
    if rule.inner is not None:  # what it hands on
        assert others.pop().kind is inspect.Parameter.VAR_KEYWORD
    assert all(p.kind is p.KEYWORD_ONLY for p in others)
