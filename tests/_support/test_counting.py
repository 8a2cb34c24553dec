import numpy as np
import pytest

from holdfast._support.counting import as_written, check_whole, largest_minority, trim_count, votes_needed
from holdfast.errors import InputError


@pytest.mark.parametrize("n", range(1, 30))
def test_the_largest_minority_is_the_largest_that_passes(n):
    for n_votes in range(n + 2):
        passing = [m for m in range(n // 2 + 1) if n - 2 * m >= n_votes]
        assert largest_minority(n_votes, n) == max(passing, default=0)


def test_fractions_mean_what_was_written():
    assert trim_count(np.float32(0.1), 30) == 3
    assert votes_needed(np.float32(0.7), 10) == 7
    assert as_written(1) == 1.0
    with pytest.raises(InputError, match="must be a number; got 'half'"):
        as_written("half")


def test_whole_numbers_have_bounds():
    check_whole("n", np.int64(3), at_least=0, at_most=3)
    with pytest.raises(InputError, match="n must be a whole number from 0 to 3; got 4"):
        check_whole("n", 4, at_least=0, at_most=3)
    with pytest.raises(InputError, match="n must be a whole number of at least 1; got True"):
        check_whole("n", True, at_least=1)
