import pickle
from functools import partial

import numpy as np
import pytest

from holdfast import INPUTS, InputError, bind, defend, invariant, krum, multi_krum, trimmed_mean


def test_bound_rules_are_values():
    rule = bind(invariant, tau=0.2)
    assert rule == bind(invariant, alpha=0.25, tau=0.2)
    assert rule != bind(invariant, tau=0.3)
    assert len({rule, bind(invariant, tau=0.2)}) == 1
    assert repr(rule) == "holdfast.aggregators.invariant.invariant(tau=0.2, alpha=0.25, strict=False)"
    assert str(rule) == "invariant(tau=0.2, alpha=0.25, strict=False)"
    rule(np.ones((3, 2)))
    assert pickle.loads(pickle.dumps(rule)) == rule


def test_a_bound_rule_takes_only_the_inputs_it_asks_for():
    updates = np.ones((4, 2))
    given = dict.fromkeys(INPUTS) | {"rng": np.random.default_rng(0), "weights": [1, 1, 1, 1]}
    np.testing.assert_array_equal(bind(trimmed_mean)(updates, **given).update, [1, 1])
    assert bind(multi_krum, n_malicious=1).needs("weights")
    assert not bind(trimmed_mean).needs("weights")
    assert not bind(trimmed_mean).needs("alpha")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: bind(invariant, aplha=0.1), "no setting 'aplha'; did you mean 'alpha'"),
        (lambda: bind(invariant, qqq=0.1), "It has: tau, alpha, strict"),
        (lambda: bind(krum), r"krum needs n_malicious; for example bind\(krum, n_malicious=...\)"),
        (lambda: bind(multi_krum, n_malicious=1, weights=[1]), "'weights' is an input, given each round"),
        (lambda: bind(trimmed_mean, alpha=[0.1]), "must be hashable"),
        (lambda: bind("invariant"), "a rule is a plain function, such as holdfast.invariant; got str"),
        (lambda: bind(partial(invariant, tau=0.1)), "got partial"),
        (lambda: bind(invariant)(np.ones((3, 2)), tau=0.1), r"filled in beforehand: bind\(invariant, tau="),
        (lambda: bind(multi_krum, n_malicious=1)(np.ones((5, 2)), wieghts=[1]), "did you mean 'weights'"),
    ],
)
def test_a_wrong_setting_is_refused_when_it_is_bound(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_a_rule_that_keeps_a_state_gets_none_at_first():
    def counting(updates, *, state):
        return type(trimmed_mean(updates))(np.zeros(2), state=(state or 0) + 1)

    first = bind(counting)(np.ones((3, 2)), state=None)
    assert bind(counting)(np.ones((3, 2)), state=first.state).state == 2


def test_a_setting_of_ones_own_rule_is_bound_the_same_way():
    def shrunk(updates, *, factor):
        result = trimmed_mean(updates)
        return type(result)(factor * result.update)

    np.testing.assert_array_equal(defend(np.ones((4, 2)), bind(shrunk, factor=0.5)).update, [0.5, 0.5])
