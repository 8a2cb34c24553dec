import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.theory import printed_p_minus, printed_p_plus_invariant, printed_p_plus_trimmed_mean

from .golden import GOLDEN

SETTING = GOLDEN["single_dimension"]
COUNTS = {"n_clients": SETTING["N"], "n_attackers": SETTING["N_malicious"]}


def test_the_printed_sums_are_the_golden_ones():
    p = [row["p"] for row in SETTING["rows"]]
    printed = {
        name: [row["printed"][name] for row in SETTING["rows"]] for name in SETTING["rows"][0]["printed"]
    }
    np.testing.assert_allclose(printed_p_minus(p, **COUNTS, alpha=0.25), printed["p_minus"], rtol=1e-12)
    np.testing.assert_allclose(
        printed_p_plus_invariant(p, **COUNTS, tau=0.5), printed["p_plus_invariant"], rtol=1e-12
    )
    np.testing.assert_allclose(
        printed_p_plus_trimmed_mean(p, **COUNTS, alpha=0.25), printed["p_plus_trim"], rtol=1e-12
    )


def test_the_printed_p_minus_is_no_probability():
    assert printed_p_minus(0.0, **COUNTS, alpha=0.25) == 2


def test_the_printed_sums_stay_finite_for_ten_thousand_clients():
    at = {"n_clients": 10_000, "n_attackers": 2_000}
    assert np.isfinite(printed_p_minus([0, 1e-4, 0.5, 1], **at, alpha=0.25)).all()
    assert np.isfinite(printed_p_plus_invariant([0, 1e-4, 0.5, 1], **at, tau=0.5)).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: printed_p_minus(0.1, n_clients=20, n_attackers=6, alpha=0.25),
            "n_attackers .* 0 to 5; got 6",
        ),
        (
            lambda: printed_p_plus_invariant(0.1, n_clients=20, n_attackers=10, tau=0.5),
            "n_attackers .* from 0 to 9; got 10",
        ),
        (lambda: printed_p_plus_invariant(0.1, n_clients=20, n_attackers=4, tau=2), "tau.* got 2"),
        (
            lambda: printed_p_plus_trimmed_mean(1.1, n_clients=20, n_attackers=4, alpha=0.25),
            "flip must be .* got 1.1",
        ),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
