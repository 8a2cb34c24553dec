import numpy as np
import pytest

from holdfast import kernels, weak_dp
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

from ..rules import RULES, inputs, named

DIM = 1_000_003


@pytest.fixture(scope="module")
def million():
    rng = np.random.default_rng(3)
    return [rng.normal(size=DIM).astype(np.float32) * 10.0 ** rng.integers(-3, 3) for _ in range(9)]


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_neither_threads_nor_blocks_change_a_bit(rule, million, monkeypatch):
    results = []
    for threads, cells in ((1, 16), (2, 16), (2, 3), (1, 1)):
        monkeypatch.setenv("HOLDFAST_THREADS", str(threads))
        monkeypatch.setattr("holdfast.kernels.passes.CELLS_PER_TASK", cells)
        blurred = weak_dp(sigma=0.1) if rule.name == "weak_dp" else rule
        results.append(blurred(rows_of(million, explain=True), **inputs(DIM, np.float32)))
    first = results[0]
    for other in results[1:]:
        assert first.update.tobytes() == other.update.tobytes()
        assert first.diagnostics.as_dict() == other.diagnostics.as_dict()


def test_layers_and_flat_rows_give_the_same_bits(million):
    layers = [[row[:70_001], row[70_001:70_002], row[70_002:]] for row in million]
    np.testing.assert_array_equal(kernels.gram(rows_of(layers)), kernels.gram(rows_of(million)))


def test_the_gram_matrix_is_that_of_numpy(million):
    wide = np.array(million, dtype=np.float64)
    np.testing.assert_allclose(kernels.gram(rows_of(million)), wide @ wide.T, rtol=1e-10)
    beside = kernels.gram(rows_of(million[:2]), beside=million[2])
    np.testing.assert_allclose(beside, wide[:3] @ wide[:3].T, rtol=1e-10)


def test_clones_are_at_no_distance_at_all(million):
    gram = kernels.gram(rows_of([million[0], million[1], million[0].copy()]))
    assert gram[0, 0] == gram[0, 2] == gram[2, 2]
    assert gram[0, 1] == gram[1, 2]


def test_noise_has_the_size_that_was_asked_for_and_follows_its_generator():
    rows = rows_of(np.zeros((1, 100_000), dtype=np.float32))
    first, again, other = (kernels.noise(rows, np.random.default_rng(seed), sigma=0.5) for seed in (1, 1, 2))
    assert first.std() == pytest.approx(0.5, rel=0.02)
    assert abs(first.mean()) < 0.01
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(first[:CELL], first[CELL : 2 * CELL])
