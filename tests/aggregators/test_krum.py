import numpy as np
import pytest

from holdfast import InputError, krum
from holdfast.errors import TooFewClientsError


def test_one_row_is_returned_as_it_was_sent():
    rows = np.random.default_rng(0).normal(size=(9, 50)).astype(np.float32)
    result = krum(rows, n_malicious=2)
    assert any(np.array_equal(result.update, row) for row in rows)
    assert sorted(result.diagnostics.client_weights) == [0] * 8 + [1]


def test_it_runs_outside_its_guarantee_and_says_so():
    rows = np.random.default_rng(0).normal(size=(6, 3))
    said = krum(rows, n_malicious=2).diagnostics
    assert said.covered is False
    assert said.tolerates is None
    assert "needs n > 2f + 2 = 6 clients; this round has 6" in said.notes[0]
    assert krum(rows, n_malicious=1).diagnostics.covered


def test_colluding_clones_win():
    clones = np.array([[0.0, 0], [4, 0], [0, 4], [4, 4], [1, 1], [1, 1]])
    assert krum(clones, n_malicious=2).update.tolist() == [1, 1]


def test_too_few_clients_to_judge_by_are_refused():
    with pytest.raises(
        TooFewClientsError, match=r"krum needs n >= f \+ 3 clients; take more per round.* got n=4, f=2"
    ):
        krum(np.ones((4, 2)), n_malicious=2)
    with pytest.raises(InputError, match="n_malicious must be a whole number"):
        krum(np.ones((4, 2)), n_malicious=-1)
