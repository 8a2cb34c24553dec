import pytest

from holdfast.errors import InputError
from holdfast.theory.checks import in_range, probabilities, whole_numbers


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: in_range("noise", 0, 0, open_low=True), "noise must be finite and above 0; got 0"),
        (lambda: in_range("noise", "loud", 0), "noise must be finite numbers of at least 0; got 'loud'"),
        (lambda: in_range("noise", float("inf"), 0), "got inf"),
        (lambda: probabilities("flip", [0.1, 2, 3, 4, 5]), "got 2, 3, 4 and 1 more"),
        (lambda: whole_numbers("n", 2.5, 0, 9), "n must be whole numbers from 0 to 9; got 2.5"),
    ],
)
def test_a_wrong_number_is_named_with_what_was_needed(call, says):
    with pytest.raises(InputError, match=says):
        call()
