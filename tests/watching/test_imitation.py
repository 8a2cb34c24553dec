"""Framing: no honest client is expelled for what others send; those who copy it count as one client."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import defend, factions, trimmed_mean
from holdfast.watching.hearing import silenced_rows
from holdfast.watching.imitation import voice_of_group

from .federation import Federation, told


def framed(seed, n_attackers, cosine, *, n=50, dim=2000, n_rounds=6):
    """Run rounds in which attackers send client 0's way, mixed with a direction of theirs."""
    rng = np.random.default_rng(seed)
    own, decoy, state = rng.normal(size=(n, dim)), rng.normal(size=dim), None
    way = cosine * own[0] + np.sqrt(1 - cosine**2) * decoy
    for _ in range(n_rounds):
        sent = own + rng.normal(size=(n, dim))
        sent[n - n_attackers :] = way + rng.normal(size=(n_attackers, dim))
        result = defend(
            sent.astype(np.float32),
            trimmed_mean(alpha=0.2),
            like=np.zeros(dim, np.float32),
            clients=range(n),
            watch=factions(),
            state=state,
            rng=np.random.default_rng(seed),
        )
        state = result.state
        yield result


@pytest.mark.parametrize("cosine", [1.0, 0.9, 0.7])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_client_that_others_copy_is_never_expelled(seed, cosine):
    *_, last = results = list(framed(seed, 5, cosine))
    assert not any(0 in result.verdicts.of("expelled") for result in results)
    assert {45, 46, 47, 48, 49} <= set(last.verdicts.named)


def test_all_who_count_as_one_have_at_most_one_voice_a_round():
    *_, last = list(framed(0, 5, 1.0))
    group = set(last.verdicts.of("counts as one"))
    assert group >= {0, 45, 46, 47, 48, 49}
    assert len(group & set(last.diagnostics.clients)) == 1
    assert "Together they count as one client" in str(last.verdicts)


def test_every_member_of_the_group_has_the_voice_in_turn():
    federation = Federation(n=30, dim=1000, n_plotters=5)
    federation.own[:5] = 0  # no ways of their own
    memory = told((federation.updates(), list(range(30))) for _ in range(8))[-1].state
    group, everybody = set(np.flatnonzero(memory.counts_as_one).tolist()), np.arange(30)
    assert len(group) == 5
    voices = {voice_of_group(replace(memory, round=number), everybody) for number in range(200)}
    assert voices == group
    exempt = {memory.clients[position] for position in list(group)[1:]}
    assert voice_of_group(memory, everybody, exempt=exempt) == next(iter(group))


def test_attackers_with_ways_of_their_own_are_expelled():
    federation = Federation(n=40, dim=1000, n_plotters=6, push=1.0)
    last = told(
        [(federation.updates(), list(range(40)))] * 1
        + [(federation.updates(), list(range(40))) for _ in range(8)]
    )[-1]
    assert set(last.verdicts.of("expelled")) == set(range(6))
    assert set(last.silenced) == set(range(6))


def test_attackers_who_send_far_longer_updates_are_expelled():
    federation = Federation(n=30, dim=1000, n_plotters=5, push=6.0)
    last = told((federation.updates(), list(range(30))) for _ in range(8))[-1]
    assert set(last.verdicts.of("expelled")) == set(range(5))


def test_a_member_stays_expelled_while_it_is_named():
    federation = Federation(n=40, dim=1000, n_plotters=6, push=1.0)
    said = told([(federation.updates(), list(range(40))) for _ in range(12)])
    first = next(i for i, watched in enumerate(said) if watched.verdicts.of("expelled"))
    for watched in said[first:]:
        assert set(watched.verdicts.of("expelled")) >= set(said[first].verdicts.of("expelled"))


def test_nobody_counts_as_one_among_honest_clients():
    for watched in told([(Federation(n=30).updates(), list(range(30)))] * 6):
        assert watched.verdicts.of("counts as one") == ()
        assert silenced_rows(watched.state, list(range(30)), 0, voice=None) == {}
