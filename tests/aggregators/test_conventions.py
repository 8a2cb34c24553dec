"""What docs/rules.md says of conventions that differ from other libraries."""

import doctest
import math
from pathlib import Path

import numpy as np
import pytest

from holdfast import fltrust, krum, trimmed_mean

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_examples_of_the_page_run():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted >= 6
    assert found.failed == 0


def byzfl_krum(rows, f):
    """The choice of ByzFL's Krum: n - f - 1 neighbours, squared distances."""
    squares = ((rows[:, None] - rows[None]) ** 2).sum(axis=2)
    return np.sort(squares, axis=1)[:, 1 : len(rows) - f].sum(axis=1).argmin()


@pytest.mark.parametrize("seed", range(20))
def test_byzfls_krum_is_that_of_one_attacker_less(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 20))
    f = int(rng.integers(1, n // 2))
    rows = rng.normal(size=(n, 7))
    assert krum(rows, n_malicious=f - 1).diagnostics.selected.argmax() == byzfl_krum(rows, f)


@pytest.mark.parametrize("n", range(3, 30))
def test_alpha_as_on_the_page_trims_as_many_as_flower(n):
    for beta in (0.1, 0.2, 0.25, 0.3, 0.45):
        rows = np.arange(float(n)).reshape(n, 1)
        as_flower, own = trimmed_mean(rows, alpha=math.floor(beta * n) / n), trimmed_mean(rows, alpha=beta)
        assert as_flower.diagnostics.tolerates == math.floor(beta * n)
        assert own.diagnostics.tolerates >= as_flower.diagnostics.tolerates


def test_where_nobody_is_trusted_the_update_is_zero():
    result = fltrust(-np.ones((3, 2)), reference=np.ones(2))
    assert not result.update.any()
    assert "no client points" in result.diagnostics.notes[0]
