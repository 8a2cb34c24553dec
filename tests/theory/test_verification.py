import math

import pytest

from holdfast.errors import InputError
from holdfast.theory import Finding, check_theory


def test_every_formula_holds_against_the_real_rules():
    findings = check_theory(n_samples=5_000, seed=1)
    assert len(findings) > 30
    assert [finding for finding in findings if not finding.holds] == []


def test_rare_events_are_counted_and_not_waited_for():
    findings = [f for f in check_theory(n_samples=100) if 0 < f.formula < 1e-7]
    assert findings
    assert all(f.n_samples is None and math.isclose(f.measured, f.formula, rel_tol=1e-9) for f in findings)


def test_the_printed_formulas_would_not_pass():
    wrong = [
        f
        for f in check_theory(n_samples=5_000)
        if f.printed is not None
        and not Finding(f.statement, f.event, f.printed, f.measured, f.n_samples).holds
    ]
    assert len(wrong) > 10


def test_a_wrong_formula_is_told():
    assert not Finding("coin", "heads", 0.5, measured=0.6, n_samples=1_000).holds
    assert Finding("coin", "edge", 0.0, measured=0.1, n_samples=1_000).deviation == math.inf
    assert not Finding("coin", "counted", 0.5, measured=0.5001, n_samples=None).holds


def test_no_samples_are_refused():
    with pytest.raises(InputError, match="n_samples must be a whole number of at least 1; got 0"):
        check_theory(n_samples=0)
