"""A strategy inside gets the defended model as the one honest reply, and its server step keeps working."""

import numpy as np
import pytest
from flwr.app import ArrayRecord, ConfigRecord
from flwr.serverapp.strategy import (
    FedAdagrad,
    FedAdam,
    FedAvg,
    FedAvgM,
    FedMedian,
    FedProx,
    FedYogi,
    Strategy,
)

from holdfast import fedavg, invariant, median
from holdfast.errors import InputError
from holdfast.flower import Robust

from .nodes import NODES, Federation, content, model, one_round, record, trained

PARAMS = ("fc.weight", "bn.weight")
OPTIMISERS = {
    "FedAdam": lambda: FedAdam(eta=0.05),
    "FedYogi": lambda: FedYogi(eta=0.05),
    "FedAdagrad": lambda: FedAdagrad(eta=0.05),
    "FedAvgM": lambda: FedAvgM(server_learning_rate=0.5, server_momentum=0.9),
    "FedMedian": FedMedian,
}


def evil(message):
    return content({**trained(11), "fc.weight": np.full((4, 3), -1e6, np.float32)})


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_server_optimiser_steps_from_the_defended_model_as_from_one_honest_reply(name):
    strategy, alone = Robust(median, inner=OPTIMISERS[name]()), OPTIMISERS[name]()
    alone.min_train_nodes = alone.min_available_nodes = 1
    base = expected = model()
    for number in (1, 2):
        defended, _, _ = one_round(Robust(median), {11: evil}, base=base, number=number)
        base, metrics, _ = one_round(strategy, {11: evil}, base=base, number=number)
        only = {1: lambda message, defended=defended: content(defended)}
        expected, _, _ = one_round(alone, only, base=expected, nodes=(1,), number=number)
        for part in PARAMS:
            np.testing.assert_allclose(base[part], expected[part], rtol=1e-4, atol=1e-6)
            assert base[part].dtype == np.float32
        for buffer in ("bn.running_mean", "bn.running_var", "bn.num_batches_tracked"):
            np.testing.assert_array_equal(base[buffer], defended[buffer])
            assert base[buffer].dtype == model()[buffer].dtype
        expected = base
        assert metrics["train_loss"] == 0.5
        assert metrics["holdfast-used"] == 5


def test_the_inner_strategy_samples_and_configures():
    strategy = Robust(invariant, inner=FedProx(fraction_train=0.6, min_train_nodes=1, proximal_mu=0.25))
    messages = strategy.configure_train(1, record(model()), ConfigRecord(), Federation())
    assert len(messages) == 3
    assert messages[0].content["config"]["proximal-mu"] == 0.25


def test_when_too_few_replies_are_good_the_inner_strategy_takes_no_step():
    inner = FedAdam()
    strategy = Robust(invariant, inner=inner)
    found, _, _ = one_round(strategy, dict.fromkeys(NODES, lambda message: None))
    np.testing.assert_array_equal(found["fc.weight"], model()["fc.weight"])
    assert inner.m_t is None


def test_a_step_that_is_not_finite_is_not_taken(caplog):
    strategy = Robust(fedavg, inner=FedAvgM(server_learning_rate=1e39))
    found, metrics, _ = one_round(strategy)
    assert metrics["holdfast-aggregated"] == 0
    assert "would not be finite" in caplog.text
    np.testing.assert_array_equal(found["fc.weight"], model()["fc.weight"])


class Forgetful(FedAvg):
    """Returns another model than it was given."""

    def __init__(self, returned):
        super().__init__()
        self.returned = returned

    def aggregate_train(self, server_round, replies):
        return self.returned, None


@pytest.mark.parametrize("returned", [None, ArrayRecord(), record({**model(), "fc.weight": np.ones(2)})])
def test_an_inner_strategy_that_returns_no_such_model_is_an_error_of_the_caller(returned):
    assert issubclass(Forgetful, Strategy)
    with pytest.raises(InputError, match="Forgetful returned"):
        one_round(Robust(invariant, inner=Forgetful(returned)))
