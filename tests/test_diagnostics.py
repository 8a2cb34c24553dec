import json

import numpy as np

from holdfast import Diagnostics, defend, invariant, krum_trimmed_mean
from holdfast.diagnostics import Dropped
from holdfast.updates import rows_of


def round_with_an_attacker():
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(10, 500)) + 1
    updates[9] = -30
    return updates


def test_the_attacker_can_be_read_off():
    said = defend(round_with_an_attacker(), invariant, explain=True).diagnostics
    assert said.trimmed_share[9] == 1
    assert said.trimmed_share[:9].max() < 0.8
    assert said.opposed_share.argmax() == 9
    assert said.cosines.argmin() == 9
    assert said.norms.argmax() == 9


def test_shares_are_those_of_a_count_by_hand():
    updates = np.array([[1.0, 5.0], [2.0, -5.0], [3.0, 5.0], [4.0, 4.0], [-9.0, 5.0]])
    said = invariant(rows_of(updates, explain=True), tau=0.6, alpha=0.2).diagnostics
    assert said.trimmed_share.tolist() == [
        0,
        0.5,
        0,
        0.5,
        0.5,
    ]  # in the second, all who tie with a kept 5 count
    assert said.opposed_share.tolist() == [0, 0.5, 0, 0, 0.5]
    assert said.consistency.tolist() == [0, 0, 0, 2, 0, 0]
    assert said.kept_fraction == 1


def test_rows_left_out_by_a_selection_are_measured_too():
    said = defend(round_with_an_attacker(), krum_trimmed_mean(n_malicious=2), explain=True).diagnostics
    assert said.trimmed_share[9] == 1
    assert len(said.norms) == 10


def test_everything_can_be_stored_as_json():
    updates = round_with_an_attacker()
    updates[0, 0] = np.nan
    result = defend(updates, invariant, clients=[("id", i) for i in range(10)], explain=True)
    stored = json.loads(json.dumps(result.diagnostics.as_dict(), allow_nan=False))
    assert stored["dropped"] == [{"client": ["id", 0], "reason": "holds NaN, infinite or overflowing values"}]
    assert len(stored["norms"]) == 9
    assert stored["rule"] == "invariant"


def test_it_prints_what_an_operator_needs():
    text = str(defend(round_with_an_attacker(), invariant, explain=True).diagnostics)
    assert "10 clients aggregated" in text
    assert "covers this round, with up to 3 malicious clients" in text
    assert "kept" in text
    assert "agreement of signs" in text
    attacker = next(line for line in text.splitlines() if line.split()[0] == "9")
    assert "100.0%" in attacker


def test_every_state_of_it_prints():
    assert "does not cover" in str(Diagnostics(rule="krum", clients=(0,), covered=False))
    assert "covers this round" in str(Diagnostics(rule="krum", clients=(0,), covered=True))
    text = str(
        Diagnostics(rule="krum", clients=(), aggregated=False, dropped=(Dropped(1, "late"),), notes=("why",))
    )
    assert "krum: 0 clients left, 1 dropped" in text
    assert "client 1: late" in text
    assert "why" in text
    empty = Diagnostics(rule="krum", clients=(0,), consistency=np.zeros(2, dtype=np.int64))
    assert "agreement" not in str(empty)


def test_a_reason_in_a_strangers_words_is_one_printable_line():
    drop = Dropped("eve\x1b[2J", "wrong type: \nclient ann: fine\ud800" + "n" * 900_000)
    assert str(drop).startswith(r"client eve\x1b[2J: wrong type: \nclient ann: fine\ud800nnn")
    assert str(drop).isprintable()
    assert len(drop.reason) < 300
