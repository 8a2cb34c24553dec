"""Errors of users' functions are told from ours."""

import json

import numpy as np

from holdfast import defend
from holdfast._support.faults import fault_in_own_code


def raised(function):
    try:
        function()
    except Exception as error:
        return fault_in_own_code(error)


def deep(n):
    return deep(n - 1) if n else {}["here"]


def test_an_error_in_a_library_is_of_whoever_called_it():
    assert raised(lambda: json.loads("no")).startswith("JSONDecodeError: Expecting value")
    assert raised(lambda: np.linalg.inv(np.zeros((2, 2)))).startswith(
        "LinAlgError: Singular matrix, in <lambda>"
    )


def test_what_led_to_it_is_named_up_to_a_limit():
    assert raised(lambda: deep(9)).startswith("KeyError: 'here', in deep (test_faults.py, line ")
    assert raised(lambda: deep(9)).count("called by deep") == 2


def test_an_error_without_words_is_its_name():
    def stop():
        raise NotImplementedError

    assert raised(stop).startswith("NotImplementedError, in stop (")


def test_a_rule_that_holdfast_calls_is_the_users():
    def mine(updates):
        return updates.nothing

    assert "in mine (test_faults.py" in raised(lambda: defend(np.ones((3, 2)), mine))
    assert "called by <lambda>" not in raised(lambda: defend(np.ones((3, 2)), mine))


def test_an_error_in_holdfast_is_not(monkeypatch):
    monkeypatch.setattr("holdfast.defending.capped", None)
    assert raised(lambda: defend(np.ones((3, 2)), lambda updates: None)) is None
