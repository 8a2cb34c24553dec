"""What a watch says of federations that are made up: whom it finds, when, and what follows."""

import numpy as np
import pytest

from holdfast import InputError, factions
from holdfast.watching.hearing import N_BEFORE_LOOKING
from holdfast.watching.judging import N_REWINDS

from .federation import Federation, told

N_ROUNDS = 9


def all_clients(federation, n_rounds=N_ROUNDS):
    return [(federation.updates(), list(range(federation.n))) for _ in range(n_rounds)]


def some_clients(federation, n_per_round, n_rounds):
    rng = np.random.default_rng(federation.seed)
    for _ in range(n_rounds):
        clients = rng.choice(federation.n, n_per_round, replace=False)
        yield federation.updates(clients), clients.tolist()


def expelled(watched):
    return set(watched.verdicts.of("expelled"))


def named(watched):
    """Return the members of factions, whether they are expelled or count as one."""
    return expelled(watched) | set(watched.verdicts.of("counts as one"))


@pytest.mark.parametrize(("n", "n_plotters"), [(20, 4), (40, 6), (100, 10)])
def test_plotters_are_expelled_and_nobody_else(n, n_plotters):
    federation = Federation(n=n, n_plotters=n_plotters)
    last = told(all_clients(federation))[-1]
    assert expelled(last) == set(federation.plotters)
    assert set(last.silenced) == set(federation.plotters)
    assert "suspected" not in {verdict.standing for verdict in last.verdicts}


def test_plotters_are_found_when_a_part_takes_part():
    federation = Federation(n=60, n_plotters=10)
    assert expelled(told(some_clients(federation, 20, 30))[-1]) == set(federation.plotters)


@pytest.mark.parametrize("n", [10, 11, 14, 20, 30, 60, 100, 150, pytest.param(300, marks=pytest.mark.slow)])
def test_honest_clients_are_not_expelled(n):
    for seed in range(2):
        for watched in told(all_clients(Federation(n=n, dim=150, seed=seed), 7)):
            assert not expelled(watched)
            assert not watched.rewinds


def renamed(federation, name, n_rounds=N_ROUNDS):
    return [
        (updates, [name(client) for client in clients])
        for updates, clients in all_clients(federation, n_rounds)
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.int64, int),
        (str, str),
        (lambda i: f"node {i}", lambda i: f"node {i}"),
        (lambda i: -i, lambda i: -i),
    ],
    ids=["numpy", "digits", "text", "negative"],
)
def test_ids_may_be_numbers_or_text(given, said):
    federation = Federation(n=24, n_plotters=4)
    assert expelled(told(renamed(federation, given))[-1]) == {said(i) for i in federation.plotters}


def test_the_order_of_the_rows_changes_nobody():
    federation, rng = Federation(n=30, n_plotters=5), np.random.default_rng(0)
    rounds, shuffled = all_clients(federation), []
    for updates, clients in rounds:
        order = rng.permutation(30)
        shuffled.append((updates[order], [clients[row] for row in order]))
    one, other = told(rounds)[-1].verdicts, told(shuffled)[-1].verdicts
    by_client = {verdict.client: verdict.standing for verdict in other}
    assert {verdict.client: verdict.standing for verdict in one} == by_client


@pytest.mark.parametrize("change", [lambda x: 1e-6 * x, lambda x: 2.5e4 * x, lambda x: x + np.float32(3)])
def test_scale_and_what_all_have_in_common_change_nobody(change):
    rounds = all_clients(Federation(n=30, n_plotters=5))
    one, other = told(rounds)[-1], told([(change(updates), clients) for updates, clients in rounds])[-1]
    assert expelled(one) == expelled(other) == {0, 1, 2, 3, 4}


def test_clients_come_and_go():
    federation = Federation(n=40, n_plotters=6)
    early = some_clients(Federation(n=40, n_plotters=6), 40, 6)
    state = told((updates[:30], clients[:30]) for updates, clients in early)[-1].state
    present = [*range(3), *range(20, 40)]
    later = told([(federation.updates(present), present)] * 3, state=state)[-1]
    assert {verdict.client for verdict in later.verdicts} >= set(present)
    assert set(later.silenced) <= {0, 1, 2}
    new = later.verdicts.clients[-1]
    assert new.heard >= 3


def test_a_client_that_stops_attacking_is_let_in_again():
    federation = Federation(n=30, n_plotters=5)
    state = told(all_clients(federation))[-1].state
    assert (state.since > 0).sum() == 5
    federation.plotters = ()
    last = told(all_clients(federation, 60), state=state)[-1]
    assert not expelled(last)
    assert not last.silenced


@pytest.mark.parametrize("n_plotters", [14, 15, 16, 24])
def test_never_more_than_half_are_expelled(n_plotters):
    federation = Federation(n=30, n_plotters=n_plotters, push=2.0)
    for watched in told(all_clients(federation), factions(hearing=0)):
        assert len(expelled(watched)) <= 15


def test_never_more_than_half_are_expelled_when_plots_alternate():
    federation = Federation(n=30, push=2.0)
    state, rng = None, np.random.default_rng(0)
    for number in range(24):
        federation.plotters = tuple(range(number % 3 * 10, number % 3 * 10 + 10))
        federation.plot = 2.0 * rng.choice([-1.0, 1.0], size=federation.dim)
        (watched,) = told([(federation.updates(), list(range(30)))], state=state)
        state = watched.state
        assert len(expelled(watched)) <= 15


def test_a_report_silences_nobody_and_says_the_same():
    rounds = all_clients(Federation(n=30, n_plotters=5))
    for one, other in zip(told(rounds, factions(mode="report")), told(rounds), strict=True):
        assert (dict(one.silenced), one.holds, one.rewinds, one.may_rewind) == ({}, False, False, False)
        assert one.verdicts.named == other.verdicts.named == other.verdicts.of("expelled")
        assert [client.since for client in one.verdicts] == [client.since for client in other.verdicts]
        assert expelled(one) == set()
    assert one.verdicts.named == (0, 1, 2, 3, 4)
    assert {client.standing for client in one.verdicts.clients[:5]} == {"suspected"}


def test_a_wary_watch_gives_suspects_no_say_and_remembers_the_same():
    n_only_suspected = 0
    for wary, other in zip(told(late_plot(), factions(mode="wary")), told(late_plot()), strict=True):
        np.testing.assert_array_equal(wary.state.evidence, other.state.evidence)
        assert expelled(wary) == expelled(other)
        assert named(wary) == named(other)
        assert wary.holds == other.holds
        suspects = set(wary.verdicts.of("suspected"))
        assert suspects >= set(other.verdicts.of("suspected"))
        assert set(wary.silenced) == set(other.silenced) | suspects | named(other)
        n_only_suspected += len(suspects - set(other.silenced))
        assert all("suspected" in wary.silenced[row] for row in suspects)
    assert n_only_suspected >= 5  # else this shows nothing


def test_a_wary_watch_silences_at_most_half():
    state = None
    for number in range(24):
        federation = Federation(n=30, push=2.0, seed=number)
        federation.plotters = tuple(range(number % 3 * 10, number % 3 * 10 + 10))
        (watched,) = told([(federation.updates(), list(range(30)))], factions(mode="wary", hearing=0), state)
        state = watched.state
        assert len(watched.silenced) <= 15


def test_those_who_come_under_new_names_in_every_round_do_not_keep_a_hearing_open():
    federation = Federation(n=40)
    rounds = [
        (federation.updates(), [*range(20), *range(20 * number, 20 * number + 20)]) for number in range(1, 12)
    ]
    holds = [watched.holds for watched in told(rounds)]
    assert holds == [True] * 6 + [False] * 5  # then half of those present were heard seven times


def test_a_hearing_says_how_many_rounds_are_left():
    said = told(some_clients(Federation(n=40), 10, 12), factions(hearing=2))
    left = [watched.n_left for watched in said]
    n_held = sum(watched.holds for watched in said)
    assert left[n_held - 1] == 1
    assert left[n_held:] == [None] * (12 - n_held)
    assert all(a >= 1 for a in left[:n_held])
    assert told(all_clients(Federation(), 1), factions(hearing=6))[0].n_left == 5


@pytest.mark.parametrize("hearing", [0, 1, 2.5, 6])
def test_a_hearing_lasts_until_clients_were_heard_so_often_on_average(hearing):
    holds = [watched.holds for watched in told(all_clients(Federation()), factions(hearing=hearing))]
    n_held = 0 if hearing == 0 else max(N_BEFORE_LOOKING, int(np.ceil(hearing))) - 1
    assert holds == [True] * n_held + [False] * (N_ROUNDS - n_held)


def late_plot(n_before=3, n_after=8):
    """Return rounds in which nobody attacks at first, then five do."""
    federation = Federation(n=30, n_plotters=5)
    plotters, federation.plotters = federation.plotters, ()
    rounds = all_clients(federation, n_before)
    federation.plotters = plotters
    federation.plot *= 3
    return rounds + all_clients(federation, n_after)


def test_three_expelled_at_once_take_the_model_back_to_its_start():
    said = told(late_plot(), factions(hearing=1))
    rewound = [number for number, watched in enumerate(said, start=1) if watched.rewinds]
    assert rewound
    assert len(rewound) <= N_REWINDS
    first = said[rewound[0] - 1]
    assert first.verdicts.rewound
    assert len(first.verdicts.changed) >= 3
    assert first.state.n_applied == 0
    assert [watched.state.n_rewinds for watched in said][-1] == len(rewound)


@pytest.mark.parametrize(("window", "n_rewound"), [(6, 1), (20, 2)])
def test_the_rounds_for_rewinds_are_counted_from_the_hearing(window, n_rewound):
    rounds = late_plot()
    federation = Federation(n=30, n_plotters=5, seed=1)
    federation.plotters, federation.plot = (10, 11, 12, 13), 3 * federation.plot
    said = told(rounds + all_clients(federation, 8), factions(hearing=1, rewind=window))
    assert len(expelled(said[-1])) >= 4
    assert sum(watched.rewinds for watched in said) == n_rewound


def test_those_found_before_anything_is_applied_take_nothing_back():
    rounds = all_clients(Federation(n=30, n_plotters=5))
    found = [len(watched.verdicts.changed) for watched in told(rounds, factions(hearing=100))]
    number = next(number for number, n_new in enumerate(found, start=1) if n_new >= 3)
    said = told(rounds, factions(hearing=number))
    assert [watched.holds for watched in said[:number]] == [True] * (number - 1) + [False]
    assert not any(watched.rewinds for watched in said)


@pytest.mark.parametrize(
    ("hearing", "n_before", "n_rewound"), [(2, 0, 0), (2, 1, 0), (2, 2, 1), (0, 0, 0), (0, 1, 1)]
)
def test_newcomers_who_never_had_a_say_take_nothing_back(hearing, n_before, n_rewound):
    federation = Federation(n=30, dim=8000, n_plotters=6, push=3.0)
    plotters, federation.plotters = federation.plotters, ()
    others = [(federation.updates(range(6, 30)), list(range(6, 30))) for _ in range(5)]
    rounds = others + all_clients(federation, n_before)
    federation.plotters = plotters
    watch = factions(hearing=hearing, false_alarms=0.99)  # who comes to plot is expelled at once
    said = told(rounds + all_clients(federation, 1), watch)
    assert named(said[-1]) == set(plotters)
    assert not any(named(watched) for watched in said[:-1])
    assert said[-1].state.n_open + hearing > 1
    assert said[-1].rewinds == n_rewound


@pytest.mark.parametrize("settings", [{"rewind": 0}, {"rewind": 1}, {"mode": "report"}])
def test_there_is_no_rewind_later_than_asked_for_nor_in_a_report(settings):
    for number, watched in enumerate(told(late_plot(), factions(hearing=1, **settings)), start=1):
        assert not watched.rewinds
        assert not watched.may_rewind or number <= N_BEFORE_LOOKING


def test_no_client_is_judged_before_it_was_heard_twice():
    first, *_, last = told(all_clients(Federation(n=20)))
    assert set(first.verdicts.of("too early to tell")) == set(range(20))
    assert set(last.verdicts.of("clear")) == set(range(20))
    joined = told([(Federation(n=21).updates(), list(range(21)))], state=last.state)[0]
    assert joined.verdicts.of("too early to tell") == (20,)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_a_few_clients_are_listened_to_and_nobody_is_judged(n):
    said = told(all_clients(Federation(n=n, n_plotters=n // 3, push=5.0)), factions(hearing=0))
    assert not any(expelled(watched) or watched.holds for watched in said)
    assert len(said[-1].verdicts.clients) == n
    assert f"looks for nobody: it has heard {n} client" in str(said[-1].verdicts)


def test_with_enough_clients_nothing_is_said_of_their_number():
    assert "looks for nobody" not in str(told(all_clients(Federation(n=10), 4))[-1].verdicts)


@pytest.mark.parametrize("n_per_round", [1, 2, 3, 4])
def test_many_clients_that_come_a_few_at_a_time_are_listened_to(n_per_round):
    for watched in told(some_clients(Federation(n=14, dim=20), n_per_round, 25), factions(hearing=0)):
        assert not expelled(watched)
        assert np.isfinite([verdict.place for verdict in watched.verdicts]).all()


def test_new_ids_are_forgotten_again():
    federation, state = Federation(n=100, dim=16), None
    for start in range(0, 2_000, 100):
        clients = [f"{start + i} {'x' * 10_000}" for i in range(100)]
        (watched,) = told([(federation.updates(), clients)], factions(most_clients=50, sample=8), state)
        state = watched.state
        assert state.n_clients == 100  # those present are never forgotten
        assert len(watched.verdicts.clients) == 100


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mode": "expell"}, "mode must be one of expel, wary, report"),
        ({"hearing": -1}, "hearing.* must be at least 0"),
        ({"hearing": np.nan}, "hearing.* must be at least 0"),
        ({"rewind": -1}, "rewind"),
        ({"rewind": 1.5}, "rewind"),
        ({"sample": 0}, "sample"),
        ({"most_clients": 3}, "most_clients"),
        ({"false_alarms": 0}, "false_alarms"),
        ({"false_alarms": 1}, "false_alarms"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, says):
    with pytest.raises(InputError, match=says):
        factions(Federation(n=5).updates(), clients=range(5), **settings)


@pytest.mark.parametrize(("dim", "settings"), [(8, {}), (9, {"sample": 4})])
def test_the_state_of_another_model_or_sample_is_refused(dim, settings):
    state = told(all_clients(Federation(n=12, dim=9), 2))[-1].state
    with pytest.raises(InputError, match=r"remembers 9 coordinates .* another model or sample"):
        told(all_clients(Federation(n=12, dim=dim), 1), factions(**settings), state)


def test_a_sample_is_drawn_once_from_the_operators_seed():
    federation = Federation(n=12, dim=1000)
    rounds = all_clients(federation, 2)
    states = [told(rounds, factions(sample=64), seed=seed)[-1].state for seed in (1, 1, 2)]
    assert states[0].seed == states[1].seed != states[2].seed
    assert states[0].rows[0].size == 64
    np.testing.assert_array_equal(states[0].rows[0], states[1].rows[0])


def test_an_attack_on_few_coordinates_is_seen_too():
    federation = Federation(n=40, dim=600, n_plotters=7)
    federation.plot[:] = 0
    federation.plot[100:108] = 12.0
    assert expelled(told(all_clients(federation, 12))[-1]) == set(federation.plotters)


def test_a_newcomer_has_a_say_once_it_was_heard_before():
    federation = Federation(n=21)
    *_, before = told([(federation.updates(range(20)), list(range(20)))] * 4)
    first, second = told(all_clients(federation, 2), state=before.state)
    assert first.silenced == {20: "new: it has a say once it was heard before"}
    assert second.silenced == {}
    assert told(all_clients(federation, 1), factions(hearing=0), before.state)[0].silenced == {}


def whitewashed(federation, n_rounds, *, n_kept):
    """Yield rounds in which plotters come under a new id after so many rounds each."""
    for number in range(n_rounds):
        generation = number // n_kept
        names = [
            f"{client}-{generation}" if client in federation.plotters else str(client)
            for client in range(federation.n)
        ]
        yield federation.updates(), names


def test_ids_that_are_left_behind_do_not_hide_those_who_left_them():
    federation = Federation(n=30, n_plotters=6)
    for number, watched in enumerate(told(whitewashed(federation, 36, n_kept=6)), start=1):
        if number % 6 == 0:
            here = {name for name in expelled(watched) if name.endswith(f"-{(number - 1) // 6}")}
            assert len(here) == 6
        assert all("-" in name for name in expelled(watched))


def test_who_is_away_is_judged_as_before_and_searched_once_it_is_back():
    federation = Federation(n=30, n_plotters=6)
    away = told(all_clients(federation))[-1].state
    some = [(federation.updates(range(6, 30)), list(range(6, 30)))] * 8
    state = told(some, state=away)[-1].state
    assert (state.evidence[:6] == told(some[:4], state=away)[-1].state.evidence[:6]).all()
    federation.plotters = ()
    assert not expelled(told(all_clients(federation, 30), state=state)[-1])
