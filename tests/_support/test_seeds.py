import numpy as np
import pytest

from holdfast._support.seeds import seeds_of
from holdfast.errors import InputError


@pytest.mark.parametrize(
    ("given", "seeds"),
    [
        (1, (0,)),
        ("3", (0, 1, 2)),
        (" 3 ", (0, 1, 2)),
        ("3,5,7", (3, 5, 7)),
        ("7, 3", (7, 3)),
        ("5,", (5,)),
        (" 5, ", (5,)),
        ("2024,", (2024,)),
        (np.int64(2), (0, 1)),
        (range(4, 6), (4, 5)),
        (np.array([3, 5]), (3, 5)),
        (iter([1, 0]), (1, 0)),
    ],
)
def test_seeds_are_how_many_or_which(given, seeds):
    found = seeds_of(given)
    assert found == seeds
    assert all(type(seed) is int for seed in found)


@pytest.mark.parametrize(
    "given", ["", ",", "a", "3;5", "-1", "-1,2", "1.5", "3,,5", "٣", True, None, 2.0, [0.5], [True], "0x3"]
)
def test_nonsense_is_refused(given):
    with pytest.raises(InputError, match=r"seeds are how many, as in 3, or which, as in 3,5,7; got "):
        seeds_of(given)


@pytest.mark.parametrize("given", [0, "0", []])
def test_no_seed_at_all_is_refused(given):
    with pytest.raises(InputError, match="at least one seed is needed; got none"):
        seeds_of(given)


@pytest.mark.parametrize("given", ["3,5,3", [3, 3]])
def test_a_seed_given_twice_is_refused(given):
    with pytest.raises(InputError, match="seed 3 is given twice"):
        seeds_of(given)


def test_a_count_beyond_reason_was_meant_as_a_seed():
    with pytest.raises(InputError, match=r"at most 1000 seeds; got 2024\. For that one seed, write 2024,"):
        seeds_of("2024")
