"""A few hundred cases of every adversary, always the same; `make fuzz` makes ten thousand."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

import tests.fuzz
from tests.fuzz import ADVERSARIES, attacked, differential, kills
from tests.fuzz import __main__ as fuzz

#: name: how many cases, and what must have become of some of them
SHORT = {
    "differential": (150, {"aggregated", "not aggregated"}),
    "replies": (30, {"aggregated", "not aggregated"}),
    "files": (60, {"dropped", "read"}),
    "states": (100, {"refused"}),
}


@pytest.mark.parametrize("name", SHORT)
def test_no_adversary_gets_through(name):
    n_cases, expected = SHORT[name]
    outcomes = Counter(attacked(name, 0, case) for case in range(n_cases))
    assert set(outcomes) >= expected, outcomes


@pytest.mark.slow
@pytest.mark.parametrize("victim", [kills.aggregation, kills.run, kills.ledger])
def test_no_kill_leaves_half_of_anything(victim, tmp_path):
    told = ("old output", "new output", "run resumed", "ledger continued")
    assert victim(np.random.default_rng(0), tmp_path) in told


def test_a_case_that_gets_through_is_told_with_what_repeats_it(monkeypatch, capsys):
    monkeypatch.setenv("HOLDFAST_THREADS", "1")
    monkeypatch.setattr(differential, "defend", lambda *args, **given: 1 / 0)
    assert fuzz.main(["--only", "differential", "--cases", "9", "--seed", "5"]) == 1
    told = capsys.readouterr()
    assert "ZeroDivisionError" in told.err
    assert "  python -m tests.fuzz --only differential --case 0 --seed 5" in told.out


def test_every_adversary_has_its_turn_and_a_case_is_always_the_same():
    turns = Counter(tests.fuzz.adversary_of(0, case) for case in range(10_000))
    assert set(turns) == set(ADVERSARIES)
    assert turns["kills"] < 20 < 1000 < turns["states"]


def test_the_command_counts_what_became_of_its_cases():
    command = [sys.executable, "-m", "tests.fuzz", "--only", "files", "--cases", "5"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "5 cases in" in told
    assert "files: dropped" in told
