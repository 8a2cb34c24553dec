"""Flower's strategies as rules: they do what ours of the same name do."""

import logging

import numpy as np
import pytest
from flwr.serverapp.strategy import Bulyan, FedMedian, Krum

from holdfast import fedavg, krum, median, multi_krum, trimmed_mean
from holdfast.errors import TooFewClientsError
from holdfast.flower.rules import aggregated_by
from holdfast.paper.flower_rules import flower_fedavg, flower_median, flower_multi_krum, flower_trimmed_avg


def a_round():
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(10, 300)).astype(np.float32)
    updates[:2] *= 5
    return updates, rng.normal(size=300).astype(np.float32), rng.integers(1, 9, size=10)


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (flower_fedavg, fedavg),
        (flower_median, median),
        (flower_trimmed_avg(beta=0.2), trimmed_mean(alpha=0.2)),
        (
            flower_multi_krum(n_malicious=2, n_selected=8),
            multi_krum(n_malicious=2, n_selected=8, weighted=True),
        ),
        (flower_multi_krum(n_malicious=2, n_selected=1), krum(n_malicious=2)),
    ],
    ids=str,
)
def test_a_strategy_of_flowers_is_the_rule_of_ours_up_to_rounding(theirs, ours):
    updates, params, weights = a_round()
    found = theirs(updates, params=params, weights=weights).update
    np.testing.assert_allclose(found, ours(updates, weights=weights).update, atol=2e-6)


def test_flower_cuts_a_share_that_is_no_whole_number_down_and_ours_up():
    updates, params, weights = a_round()
    found = flower_trimmed_avg(updates, beta=0.25, params=params, weights=weights).update
    np.testing.assert_allclose(found, trimmed_mean(updates, alpha=0.2).update, atol=2e-6)
    assert not np.allclose(found, trimmed_mean(updates, alpha=0.25).update, atol=1e-3)


def test_an_update_comes_back_in_the_form_of_the_clients():
    updates = [[np.full((2, 2), value), np.full(3, -value)] for value in (1.0, 2.0, 9.0)]
    found = aggregated_by(FedMedian(), updates, params=[np.ones((2, 2)), np.ones(3)]).update
    assert [layer.shape for layer in found] == [(2, 2), (3,)]
    assert found[1].tolist() == [-2.0] * 3


def test_a_strategy_that_returns_nothing_has_too_few_clients():
    with pytest.raises(TooFewClientsError, match="Flower's Bulyan returned no model for 10 clients"):
        aggregated_by(Bulyan(num_malicious_nodes=2), a_round()[0])


def test_flower_says_nothing_about_a_round_and_logs_as_before_after_it(caplog):
    logger = logging.getLogger("flwr")
    level = logger.level
    with caplog.at_level(logging.INFO, logger="flwr"):
        aggregated_by(Krum(num_malicious_nodes=2), a_round()[0])
        assert not caplog.records
    assert logger.level == level
