import pytest

from holdfast import aggregators
from holdfast.report.demo import RULES, Standing, poisoned_rounds


def test_every_rule_takes_part():
    assert {rule.name for rule in RULES} == set(aggregators.__all__)


@pytest.mark.parametrize("seed", [0, 1])
def test_averaging_is_moved_and_the_invariant_aggregator_holds(seed):
    by_rule = {standing.rule: standing for standing in poisoned_rounds(seed=seed)}
    assert by_rule["fedavg"].learned == pytest.approx(1, abs=0.02)
    assert by_rule["fedavg"].let_in == 1
    assert by_rule["invariant"].let_in < 0.1
    assert by_rule["invariant"].learned > 0.8
    assert by_rule["invariant"].let_in < by_rule["trimmed_mean"].let_in / 3


def test_a_verdict_needs_both_learning_and_holding():
    assert Standing("x", learned=0.9, let_in=0.9).verdict == "is moved"
    assert Standing("x", learned=0.1, let_in=0.0).verdict == "hardly learns"
