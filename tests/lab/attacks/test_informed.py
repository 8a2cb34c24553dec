"""The attacker who knows everything: how strong it is against servers of which we know what they accept."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import InputError, defend, fedavg, krum_trimmed_mean, median, multi_krum, norm_clipping
from holdfast.core import bind
from holdfast.lab.attacks import full_information
from holdfast.watching import Verdict, Verdicts

ATTACKERS = np.array([3, 8])
RNG = np.random.default_rng(0)
CENTRE = RNG.normal(size=40)
BENIGN, REHEARSAL = (CENTRE + 0.3 * RNG.normal(size=(n, 40)) for n in (8, 2))
DEVIATION = np.repeat(RNG.normal(size=(1, 40)), 2, axis=0)


def asked(rule, *, watch=None):
    """Return what a server with this rule makes of attackers' rows, and the list of all it was asked."""
    questions = []

    def server(rows):
        questions.append(rows.copy())
        made = defend(np.vstack([BENIGN, rows]), rule)
        return made if watch is None else replace(made, verdicts=Verdicts(1, watch(strength(rows))))

    return server, questions


def strength(rows):
    """Return s in rehearsal + s * deviation, after checking that the rows have that form."""
    found = float(((rows - REHEARSAL)[0] @ DEVIATION[0]) / (DEVIATION[0] @ DEVIATION[0]))
    np.testing.assert_allclose(rows, REHEARSAL + found * DEVIATION, atol=1e-9)
    return found


def attack(server, **settings):
    craft = bind(full_information, "craft", **settings)
    return craft(
        REHEARSAL + DEVIATION, rehearsal=REHEARSAL, attackers=ATTACKERS, server=server, benign=BENIGN
    )


def leaked(server, rows):
    return server(rows).update @ DEVIATION[0]


def test_plain_averaging_accepts_the_maximum():
    server, questions = asked(fedavg)
    assert strength(attack(server, max_strength=7.0)) == pytest.approx(7.0)
    assert len(questions) == 7  # the honest one and the grid: above the maximum there is nothing to find


def test_under_norm_clipping_it_stops_where_more_brings_nothing():
    server, _ = asked(norm_clipping)
    chosen = attack(server, max_strength=1000.0, n_steps=20)
    most = leaked(server, REHEARSAL + 1e6 * DEVIATION)
    honest = leaked(server, REHEARSAL)
    assert leaked(server, chosen) - honest == pytest.approx(most - honest, rel=0.015)
    assert 1 < strength(chosen) < 50


@pytest.mark.parametrize("rule", [multi_krum(n_malicious=2), krum_trimmed_mean(n_malicious=2, alpha=0.1)])
def test_it_ends_just_inside_what_is_selected(rule):
    server, _ = asked(rule)

    def is_selected(rows):
        return bool(server(rows).diagnostics.selected[-2:].any())

    chosen = attack(server, n_steps=20)
    s = strength(chosen)
    assert is_selected(chosen)
    assert not is_selected(REHEARSAL + 1.1 * s * DEVIATION)
    assert leaked(server, chosen) > leaked(server, REHEARSAL)


def test_it_is_at_least_as_far_as_the_attack_unchanged_and_as_honest_rows():
    for rule in (fedavg, median, multi_krum(n_malicious=2), norm_clipping):
        server, _ = asked(rule)
        reached = leaked(server, attack(server))
        assert reached >= leaked(server, REHEARSAL)
        assert reached >= 0.99 * leaked(server, REHEARSAL + DEVIATION)


@pytest.mark.parametrize("standing", ["suspected", "expelled"])
def test_it_stays_below_what_the_watch_would_see(standing):
    def watch(s):
        return (Verdict(8, standing if s > 1.7 else "clear", heard=3),)

    server, questions = asked(fedavg, watch=watch)
    chosen = strength(attack(server, n_steps=20))
    assert 1.6 < chosen <= 1.7
    assert len(questions) == 20


def test_verdicts_on_others_or_that_stand_anyway_do_not_bind():
    def watch(s):
        framed = "expelled" if s > 1.7 else "clear"
        return Verdict(5, framed, heard=3), Verdict(3, "suspected", heard=3)

    server, _ = asked(fedavg, watch=watch)
    assert strength(attack(server)) == pytest.approx(5.0)


def test_where_nothing_is_aggregated_attackers_are_honest():
    def hearing(rows):
        made = defend(np.vstack([BENIGN, rows]), fedavg)
        return replace(made, diagnostics=replace(made.diagnostics, aggregated=False))

    np.testing.assert_array_equal(attack(hearing), REHEARSAL)


def test_without_a_deviation_there_is_nothing_to_ask():
    def server(rows):
        raise AssertionError("asked")

    got = full_information(REHEARSAL, rehearsal=REHEARSAL, attackers=ATTACKERS, server=server)
    np.testing.assert_array_equal(got, REHEARSAL)


@pytest.mark.parametrize(
    ("wrong", "needed"),
    [
        ({"n_steps": 2}, "n_steps, .* must be a whole number of at least 3; got 2"),
        ({"max_strength": np.inf}, "max_strength must be a finite number above 0; got inf"),
    ],
)
def test_bad_settings_say_what_was_needed(wrong, needed):
    with pytest.raises(InputError, match=needed):
        attack(asked(fedavg)[0], **wrong)
