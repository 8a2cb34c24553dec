import numpy as np
import pytest

from holdfast.aggregators import bulyan
from holdfast.errors import InputError, TooFewClientsError
from holdfast.updates import rows_of

from .. import naive_fronts


@pytest.mark.parametrize("seed", range(12))
def test_is_what_the_slow_twin_says(seed):
    rng = np.random.default_rng(seed)
    f = int(rng.integers(0, 4))
    n = int(rng.integers(max(4 * f + 1, 3), 4 * f + 12))
    rows = rng.normal(size=(n, 30)) + rng.normal(size=30)
    rows[:f] *= 10.0 ** rng.integers(0, 30)
    result = bulyan(rows, n_malicious=f)
    chosen = naive_fronts.selected_by_krum(rows, f)
    np.testing.assert_array_equal(np.flatnonzero(result.diagnostics.selected), chosen)
    np.testing.assert_allclose(result.update, naive_fronts.bulyan(rows, f).astype(float), rtol=1e-9)


def test_the_worked_example():
    # Krum takes 4, 3, 5, 2 and 6, which leaves 1 and 99; of 2 to 6, those closest to 4 are 3, 4 and 5.
    # In the second column the selected are 5, 0, 1, 2 and 9, of which 0, 1 and 2 are closest to 2.
    rows = np.array([[1, 0.0], [2, 5], [3, 0], [4, 1], [5, 2], [6, 9], [99, 0]])
    result = bulyan(rows * [1, 1e-3], n_malicious=1)
    assert result.diagnostics.selected.tolist() == [False, True, True, True, True, True, False]
    np.testing.assert_allclose(result.update, [4, 1e-3])


def test_attackers_cannot_leave_the_range_of_the_honest_even_in_one_coordinate():
    rng = np.random.default_rng(1)
    honest = rng.normal(size=(9, 400))
    rows = np.vstack([honest, np.tile(honest.mean(axis=0), (2, 1))])
    rows[9:, 7] += 3 * np.sqrt((honest.std(axis=0) ** 2).sum())  # hidden in one coordinate from Krum
    result = bulyan(rows, n_malicious=2)
    assert honest[:, 7].min() <= result.update[7] <= honest[:, 7].max()


def test_a_long_common_part_hides_nobody():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(11, 50))
    rows[4] += 9
    common = rng.normal(size=50) * 1e9
    assert not bulyan(rows + common, n_malicious=2).diagnostics.selected[4]


def test_says_when_its_guarantee_does_not_cover_the_round():
    rows = np.random.default_rng(0).normal(size=(7, 3))
    assert bulyan(rows, n_malicious=1).diagnostics.covered
    said = bulyan(rows[:6], n_malicious=1).diagnostics
    assert said.covered is False
    assert said.notes == ("the guarantee needs n >= 4f + 3 = 7 clients; this round has 6",)
    assert "plain averaging" in bulyan(rows, n_malicious=0).diagnostics.notes[0]


def test_who_is_not_selected_counts_as_trimmed_everywhere():
    rows = np.random.default_rng(0).normal(size=(11, 90))
    rows[3] += 50
    said = bulyan(rows_of(rows, explain=True), n_malicious=2).diagnostics
    assert said.trimmed_share[3] == 1
    assert (said.trimmed_share[said.selected] < 1).all()
    np.testing.assert_allclose(said.trimmed_share[said.selected].sum(), 4)  # of seven, three count


@pytest.mark.parametrize(("n", "f"), [(8, 2), (2, 0), (4, 1)])
def test_too_few_are_refused(n, f):
    with pytest.raises(TooFewClientsError, match=f"bulyan needs n >= 4f \\+ 1 .* got n={n}, f={f}"):
        bulyan(np.ones((n, 2)), n_malicious=f)


def test_the_number_of_attackers_is_checked():
    with pytest.raises(InputError, match="n_malicious"):
        bulyan(np.ones((9, 2)), n_malicious=-1)
