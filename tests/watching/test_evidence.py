import pytest

from holdfast import InputError
from holdfast.watching import chance_of_false_alarm, evidence_needed, rounds_until_seen
from holdfast.watching.evidence import in_common_units


@pytest.mark.parametrize("chance", [0.3, 0.05, 0.01, 0.002])
def test_the_evidence_needed_is_what_honest_clients_show_by_that_chance(chance):
    assert chance_of_false_alarm(evidence_needed(chance)) == pytest.approx(chance)


def test_more_evidence_is_a_smaller_chance():
    chances = [chance_of_false_alarm(evidence_needed(0.5) * times) for times in range(6)]
    assert chances == sorted(chances, reverse=True)
    assert chances[0] == 1
    assert min(chances) > 0


@pytest.mark.parametrize("share", [0, 1, -0.1, 2, float("nan")])
def test_a_share_of_trainings_is_between_none_and_all(share):
    with pytest.raises(InputError, match=r"must be in \(0, 1\)"):
        evidence_needed(share)


def test_a_faction_must_be_stronger_among_more_clients_and_above_all_beyond_a_hundred():
    multiples = [in_common_units(60.0, n_clients=n, shared=0.0) for n in (20, 50, 100, 101, 150, 200, 10_000)]
    assert multiples == sorted(multiples, reverse=True)
    per_client = [60 / multiples[i + 1] - 60 / multiples[i] for i in (2, 5)]
    assert per_client[0] == pytest.approx(3 * (60 / multiples[2] - 60 / multiples[1]) / 50)
    assert per_client[1] == pytest.approx(9_800 * per_client[0])


def seen(**changes):
    given = {"n_clients": 100, "n_per_round": 20, "n_attackers": 20, "strength": 3.0, "false_alarms": 0.01}
    return rounds_until_seen(**{**given, **changes})


def test_stronger_attackers_are_seen_sooner_and_rarely_heard_ones_later():
    rounds = [seen(strength=strength) or 10**9 for strength in (0.3, 1, 2, 4, 8)]
    assert rounds == sorted(rounds, reverse=True)
    assert rounds[-1] < rounds[0]
    assert seen(n_per_round=10) > seen(n_per_round=50) > 0
    assert seen(false_alarms=0.001) >= seen(false_alarms=0.1)


@pytest.mark.parametrize(
    "changes", [{"n_clients": 8, "n_per_round": 8, "n_attackers": 2}, {"n_attackers": 50}, {"strength": 0.01}]
)
def test_what_cannot_be_seen_is_never_seen(changes):
    assert seen(**changes) is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"n_attackers": 0}, "n_attackers"),
        ({"n_attackers": 101}, "n_attackers"),
        ({"n_per_round": 101}, "n_per_round"),
        ({"n_clients": 0}, "n_clients"),
        ({"strength": 0}, "strength"),
        ({"strength": float("nan")}, "strength"),
    ],
)
def test_a_federation_that_cannot_be_is_refused(changes, says):
    with pytest.raises(InputError, match=says):
        seen(**changes)
