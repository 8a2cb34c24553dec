import pytest

from holdfast.theory import Assessment, Federation
from holdfast.theory.advice_text import guarantees, paper_text, percent, problems, region_text, watch_text


def test_an_unsure_direction_is_said_to_be_none():
    federation = Federation(100, 20, 20)
    text = list(guarantees(federation, Assessment.of(federation, tau=0.2, alpha=0.25)))
    assert text[1].startswith(
        "Direction: none. A coordinate passes with up to 8 clients against it, and only 5"
    )


def test_each_guarantee_says_what_it_assumes():
    federation = Federation(100, 20, 20)
    text = list(guarantees(federation, Assessment.of(federation, tau=0.5, alpha=0.25)))
    assert len(text) == 3
    assert all("Assumes" in line for line in text)
    assert "need 11 of the 16 honest clients" in text[1]


def test_settings_within_the_risk_have_no_problems():
    federation = Federation(30, 5, 30)
    assert list(problems(federation, Assessment.of(federation, tau=0.5, alpha=0.25), 0.01)) == []


def test_where_only_all_clients_together_keep_the_risk_that_is_said():
    federation = Federation(11, 5, 5)
    first = next(problems(federation, Assessment.of(federation, tau=0.2, alpha=0.4), 0.01))
    assert "with 11 clients per round" in first


@pytest.mark.parametrize(("n_malicious", "tau", "opposing"), [(20, "0.2", 8), (10, "0.1", 9)])
def test_the_papers_advice_on_tau_is_worked_out_for_the_federation(n_malicious, tau, opposing):
    text = paper_text(Federation(100, n_malicious, 20))
    assert f"N'/N = {tau} " in text
    assert f"up to {opposing} of 20 clients" in text


def test_an_empty_region_is_named():
    assert region_text(Federation(30, 5, 30), ()).startswith("none")
    assert "never more against than are trimmed" in region_text(
        Federation(30, 5, 30), ((5, 5), (6, 5), (6, 6))
    )


@pytest.mark.parametrize(
    ("n_rounds", "when"),
    [
        (12, "after about 12 rounds, if"),
        (31, "after about 31 rounds, later than the training of 30 ends, if"),
    ],
)
def test_when_a_watch_sees_the_attackers_is_told_beside_how_long_the_training_is(n_rounds, when):
    text = watch_text(Federation(50, 10, 20, n_rounds=30), strength=2.5, n_rounds=n_rounds)
    assert f"sees the 10 attackers {when}" in text
    assert "by 2.5 deviations" in text


def test_attackers_whom_no_watch_sees_are_said_not_to_be():
    text = watch_text(Federation(9, 2, 9), strength=3.0, n_rounds=None)
    assert text.startswith("a watch (factions) never sees the 2 attackers")


@pytest.mark.parametrize(
    ("chance", "text"),
    [(0, "0%"), (1, "100%"), (0.99999, ">99.9%"), (0.5, "50%"), (0.0123, "1.2%"), (3e-5, "3e-05")],
)
def test_chances_are_written_to_be_read(chance, text):
    assert percent(chance) == text
