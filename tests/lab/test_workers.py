import numpy as np
import pytest
import torch

from holdfast.core import bind
from holdfast.lab.models import flat_params, mlp
from holdfast.lab.simulation.clients import threads, workers
from holdfast.lab.training import Shard


def untidy(model, params, shards):
    """Train, and leave the network in another mode and with gradients."""
    seen = model.training, [parameter.grad is None for parameter in model.parameters()]
    model.eval()
    model(torch.ones(1, 3)).sum().backward()
    return np.full((len(shards), params.size), seen == (True, [True, True]), dtype=np.float32)


@pytest.mark.parametrize("n_threads", ["1", "3"])
def test_a_network_is_lent_as_it_was_built(monkeypatch, n_threads):
    monkeypatch.setenv("HOLDFAST_THREADS", n_threads)
    model = mlp(sizes=(3, 2))
    shard = Shard(np.ones((1, 3), np.float32), np.zeros(1, np.int64), np.array([[0]]))
    with workers(model) as crew:
        for _ in range(2):
            crew.scores(flat_params(model), {}, np.ones((5, 3), np.float32))
            trained = crew.train(
                bind(untidy, "training"), flat_params(model), [shard] * 8, buffers={}, n_together=2
            )
            assert (trained.updates == 1).all()
        assert crew.network(flat_params(model), {}).training


@pytest.mark.parametrize("n_examples", [1, 1024, 1025, 5000])
def test_scores_come_in_the_order_of_the_examples_on_any_threads(monkeypatch, n_examples):
    model = mlp(sizes=(3, 2))
    x = np.random.default_rng(0).normal(size=(n_examples, 3)).astype(np.float32)
    found = []
    for n_threads in ("1", "2", "3"):
        monkeypatch.setenv("HOLDFAST_THREADS", n_threads)
        with workers(model) as crew:
            found.append(crew.scores(flat_params(model), {}, x))
    with torch.no_grad():
        np.testing.assert_allclose(found[0], model(torch.from_numpy(x)).numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_torch_has_its_threads_back_between_rounds_and_after(monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", "2")
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with threads(mlp(sizes=(3, 2))):
            assert torch.get_num_threads() == 2
        with workers(mlp(sizes=(3, 2))):
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
