import pickle
from functools import partial

import numpy as np
import pytest

from holdfast import (
    Aggregate,
    InputError,
    defend,
    fltrust,
    invariant,
    krum,
    multi_krum,
    rule,
    trimmed_mean,
    weak_dp,
)
from holdfast.core import ROLES, bind


@rule
def shrunk(updates, *, factor=0.5):
    """Return a shrunk trimmed mean."""
    return Aggregate(factor * trimmed_mean(updates).update)


@rule
def halved(updates, *, n_malicious, rule=trimmed_mean, rng=None, **inputs):
    """Return half of what another rule makes of the rows."""
    return Aggregate(rule.run(np.asarray(updates) / 2, rng=rng, **inputs).update)


def test_rules_are_values():
    chosen = invariant(tau=0.2)
    assert chosen == invariant(alpha=0.25, tau=0.2)
    assert chosen != invariant(tau=0.3)
    assert len({chosen, invariant(tau=0.2)}) == 1
    assert str(chosen) == repr(chosen) == "invariant(tau=0.2, alpha=0.25, strict=False)"
    assert chosen(strict=True) == invariant(tau=0.2, strict=True)
    assert krum.missing == ["n_malicious"]
    assert repr(krum) == "krum(n_malicious=?)"


def test_a_rule_called_with_updates_runs_with_the_settings_it_has_and_gets():
    updates = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(invariant(updates, tau=0.9).update, [1, 0])
    np.testing.assert_array_equal(invariant(tau=0.9)(updates).update, [1, 0])
    np.testing.assert_array_equal(invariant(tau=0.9)(updates, tau=0.0, alpha=0.0).update, [1, 2 / 3])


def test_a_rule_still_reads_like_its_function():
    assert shrunk.__name__ == "shrunk"
    assert shrunk.__doc__ == "Return a shrunk trimmed mean."
    assert "tau: float = 0.6" in str(__import__("inspect").signature(invariant))


def test_a_rule_of_ones_own_is_a_value_too():
    np.testing.assert_array_equal(defend(np.ones((4, 2)), shrunk(factor=0.25)).update, [0.25, 0.25])
    np.testing.assert_array_equal(shrunk(np.ones((4, 2))).update, [0.5, 0.5])
    assert repr(shrunk(factor=1)) == "shrunk(factor=1)"


@pytest.mark.parametrize(
    "made",
    [invariant, invariant(tau=0.3), krum, shrunk(factor=2.0), halved, halved(rule=krum(n_malicious=1))],
)
def test_a_rule_can_be_pickled(made):
    assert pickle.loads(pickle.dumps(made)) == made


def test_a_partial_and_a_plain_function_are_taken_as_rules():
    def largest(updates, *, times):
        return Aggregate(times * np.max(np.asarray(updates), axis=0))

    assert bind(partial(invariant, tau=0.1)) == invariant(tau=0.1)
    assert bind(partial(invariant, tau=0.1), alpha=0.0) == invariant(tau=0.1, alpha=0.0)
    np.testing.assert_array_equal(defend(np.eye(2), partial(largest, times=2.0)).update, [2, 2])


def test_a_rule_takes_only_the_inputs_it_asks_for():
    updates = np.ones((4, 2))
    given = dict.fromkeys(ROLES["rule"].inputs) | {"rng": np.random.default_rng(0), "weights": [1, 1, 1, 1]}
    np.testing.assert_array_equal(trimmed_mean(updates, **given).update, [1, 1])
    assert multi_krum.needs("weights")
    assert not trimmed_mean.needs("weights")
    assert not trimmed_mean.needs("alpha")


def test_a_setting_of_one_role_may_have_the_name_of_anothers_input():
    def load(*, vectors="glove"):
        return vectors

    def network(*, vectors, hidden=3):
        return len(vectors), hidden

    assert bind(load, "loader", vectors="word2vec")() == "word2vec"
    assert repr(bind(network, "model")) == "network(hidden=3)"
    assert bind(network, "model")(vectors="abc") == (3, 3)


def test_a_class_and_its_ordinary_parameters_can_be_a_model():
    class Net:
        def __init__(self, hidden, depth=2):
            self.size = hidden * depth

    assert bind(partial(Net, hidden=4), "model")().size == 8
    assert repr(bind(Net, "model", hidden=4)) == "Net(hidden=4, depth=2)"


def test_whole_numbers_and_floats_are_the_same_setting_where_a_float_is_asked_for():
    assert repr(invariant(tau=1)) == repr(invariant(tau=1.0))


def made_with(number):
    def own(updates):
        return Aggregate(np.asarray(updates)[number])

    return own


def test_the_identity_of_a_function_from_outside_changes_with_its_source():
    first, same, other = made_with(0), made_with(0), made_with(1)
    assert bind(first).identity == bind(same).identity
    assert bind(first).identity != bind(other).identity  # what it closes over is another
    assert bind(first).identity.startswith("own()#")
    assert bind(lambda updates: 1).identity != bind(lambda updates: 2).identity
    assert invariant.identity == "invariant(tau=0.6, alpha=0.25, strict=False)"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: invariant(aplha=0.1), "no setting 'aplha'; did you mean 'alpha'"),
        (lambda: invariant(qqq=0.1), "invariant has no setting 'qqq'; it has: tau, alpha, strict"),
        (lambda: krum(np.ones((5, 2))), r"krum needs n_malicious; for example krum\(n_malicious=...\)"),
        (lambda: weak_dp(np.ones((5, 2)), rng=7), r"rng must be a numpy Generator, .*; got int"),
        (lambda: multi_krum(n_malicious=1, weights=[1]), "'weights' is an input, given with the updates"),
        (lambda: bind(multi_krum, weights=(1,)), "'weights' is an input of a rule"),
        (lambda: bind(lambda updates, *, parts=(1,): updates, parts=[1]), "must be hashable"),
        (lambda: bind("invariant"), "a rule is a function, such as holdfast.krum.*; got str"),
        (lambda: bind(3, "watch"), r"a watch is a function, such as holdfast.factions\(\), or .*; got int"),
        (lambda: bind(partial(shrunk, np.ones(2))), "fills in settings by name"),
        (lambda: bind(lambda: 1), r"a rule is called with \(updates\)"),
        (lambda: multi_krum(n_malicious=1)(np.ones((5, 2)), wieghts=[1]), "no setting 'wieghts'"),
        (lambda: bind(len, "prediction")([1], rng=2), "'rng' is not an input of a prediction"),
    ],
)
def test_what_is_wrong_with_a_rule_or_its_settings_is_said(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_a_rule_that_keeps_a_state_gets_none_at_first():
    @rule
    def counting(updates, *, state):
        return Aggregate(np.zeros(2), state=(state or 0) + 1)

    first = counting(np.ones((3, 2)), state=None)
    assert counting(np.ones((3, 2)), state=first.state).state == 2


def test_a_rule_in_front_of_another_is_a_value_that_shows_it():
    made = halved(n_malicious=2, rule=krum(n_malicious=1))
    assert made == halved(rule=krum(n_malicious=1), n_malicious=2)
    assert hash(made) == hash(halved(rule=krum(n_malicious=1), n_malicious=2))
    assert made != halved(n_malicious=2, rule=krum(n_malicious=2))
    assert repr(made) == "halved(n_malicious=2, rule=krum(n_malicious=1))"
    assert repr(halved(rule=krum)) == "halved(rule=krum(n_malicious=?), n_malicious=?)"
    assert made.inner == krum(n_malicious=1)
    assert krum.inner is None


def test_the_rule_behind_may_be_a_plain_function_and_changes_the_identity_with_its_source():
    first, other = (halved(n_malicious=1, rule=made_with(number)) for number in (0, 1))
    np.testing.assert_array_equal(first(np.array([[2.0], [4.0]])).update, [1])
    assert first.identity != other.identity
    assert halved(n_malicious=1, rule=partial(invariant, tau=0.1)).inner == invariant(tau=0.1)


def test_a_rule_in_front_asks_for_what_the_one_behind_asks_for():
    assert not halved.needs("reference")
    assert halved(rule=fltrust).needs("reference")
    assert halved(rule=halved(rule=fltrust)).needs("reference")
    updates, reference = np.array([[6.0, 8.0], [4.0, -3.0]]), np.array([3.0, 4.0])
    given = {"reference": reference, "weights": [1, 1], "rng": np.random.default_rng(0)}
    np.testing.assert_array_equal(halved(updates, n_malicious=1, rule=fltrust, **given).update, [3, 4])
    assert halved(updates, n_malicious=1, rule=weak_dp, **given).update.shape == (2,)
    np.testing.assert_array_equal(halved(updates, n_malicious=1, **given).update, [2.5, 1.25])


def test_what_the_rule_behind_lacks_is_said_by_its_name():
    updates = np.ones((5, 2))
    assert halved(rule=krum).missing == ["n_malicious", "krum.n_malicious"]
    with pytest.raises(InputError, match=r"^halved needs n_malicious; for example halved\("):
        halved(updates, rule=krum)
    with pytest.raises(InputError, match=r"^krum needs n_malicious; for example krum\("):
        halved(updates, rule=krum, n_malicious=1)
    with pytest.raises(InputError, match="fltrust needs reference="):
        halved(updates, rule=fltrust, n_malicious=1)
    with pytest.raises(InputError, match=r"a rule is a function, .* got str"):
        halved(rule="krum")


def test_what_is_not_set_is_filled_in_for_both_rules_and_what_is_set_stays():
    filled = halved(rule=krum).filled({"n_malicious": 3, "threshold": 6})
    assert filled == halved(n_malicious=3, rule=krum(n_malicious=3))
    assert halved(rule=krum(n_malicious=1)).filled({"n_malicious": 3}).inner == krum(n_malicious=1)
