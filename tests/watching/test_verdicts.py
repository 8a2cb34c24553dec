import json

import pytest

from holdfast.watching import Verdict, Verdicts

from .federation import Federation, told


def test_a_verdict_is_one_line_that_says_since_when_and_how_sure():
    assert str(Verdict("ann", "clear", heard=1)) == "client ann: clear (heard once)"
    line = str(Verdict(7, "expelled", heard=3, false_alarm=0.004, faction=2, since=5))
    assert line == (
        "client 7: expelled since round 5, votes with faction 2 (heard 3 times, false alarm: 1 in 200)"
    )


@pytest.mark.parametrize("chance", [1.0, 0.5, 0.2, 1e-3, 1e-9])
def test_any_chance_can_be_said(chance):
    assert "false alarm: " in str(Verdict("ann", "suspected", heard=2, false_alarm=chance, faction=1))


def test_verdicts_of_a_training_are_plain_values():
    said = told([(Federation(n_plotters=5).updates(), [f"c{i}" for i in range(30)])] * 6)[-1].verdicts
    assert json.loads(json.dumps(said.as_dict(), allow_nan=False))["round"] == 6
    assert [verdict.client for verdict in said] == [f"c{i}" for i in range(30)]
    assert str(said).startswith("round 6: 30 clients heard")


def test_the_summary_names_those_who_do_not_stand_clear():
    verdicts = Verdicts(
        4,
        (
            Verdict("ann", "clear", heard=4),
            Verdict("bob", "expelled", heard=4, false_alarm=0.001, faction=1, since=4),
            Verdict("cat", "expelled", heard=4, false_alarm=0.001, faction=1, since=2),
            Verdict("dan", "too early to tell", heard=1),
        ),
        hearing=True,
        rewound=True,
    )
    text = str(verdicts)
    assert "2 expelled, 0 suspected, 1 too early to tell" in text
    assert "hearing" in text
    assert "went back to its start" in text
    assert "bob" in text
    assert "ann" not in text
    assert [verdict.client for verdict in verdicts.changed] == ["bob"]
