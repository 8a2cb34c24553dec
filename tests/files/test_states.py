"""The state of a loop of one's own, saved and loaded between rounds."""

import stat
from pathlib import Path

import numpy as np
import pytest

from holdfast import InputError, defend, factions, krum_trimmed_mean, median, sparsefed
from holdfast.core import Memory
from holdfast.errors import DataError
from holdfast.files import load_state, save_state

from ..pages import blocks

GUIDE = Path(__file__).parents[2] / "docs" / "guide.md"


def rounds(rule, n_rounds, between):
    """Return the last result of a loop in which the state is given to a function between rounds."""
    rng, state, base = np.random.default_rng(0), None, {"w": np.zeros(300)}
    own, plot = rng.normal(size=(20, 300)), rng.normal(size=300)
    for _ in range(n_rounds):
        sent = own + rng.normal(size=own.shape)
        sent[:4] += plot
        models = {f"c{i}": {"w": row} for i, row in enumerate(sent)}
        chosen = {"watch": factions(), "rng": np.random.default_rng(1)}
        result = defend(models, rule, base=base, state=state, **chosen)
        base, state = result.model, between(result.state)
    return result


@pytest.mark.parametrize("rule", [median, sparsefed(kept=0.5)], ids=str)
def test_a_loop_that_is_restarted_after_every_round_ends_at_the_same_bits(rule, tmp_path):
    path = tmp_path / "states" / "training.state"

    def restarted(state):
        save_state(str(path), state, rule=rule)
        return load_state(str(path), rule=rule)

    whole, parts = rounds(rule, 6, lambda state: state), rounds(rule, 6, restarted)
    np.testing.assert_array_equal(parts.model["w"], whole.model["w"])
    assert parts.verdicts.of("expelled") == whole.verdicts.of("expelled") == ("c0", "c1", "c2", "c3")


def test_only_its_owner_may_read_a_state(tmp_path):
    path = tmp_path / "training.state"
    for _ in range(2):
        save_state(path, rounds(median, 1, lambda state: state).state, rule=median)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_is_no_state_is_refused(tmp_path):
    (tmp_path / "damaged").write_bytes(b"half of a")
    with pytest.raises(DataError, match="the state"):
        load_state(tmp_path / "damaged", rule=median)
    with pytest.raises(InputError, match="state must be the state of a round's result; got dict"):
        save_state(tmp_path / "training.state", {}, rule=median)
    with pytest.raises(InputError, match="cannot be stored"):
        save_state(tmp_path / "training.state", Memory({"mine": 1}), rule=median)
    assert not (tmp_path / "training.state").exists()
    state = rounds(median, 1, lambda state: state).state
    with pytest.raises(InputError, match="cannot be written: "):
        save_state(tmp_path / "damaged" / "training.state", state, rule=median)


@pytest.mark.skipif(not GUIDE.exists(), reason="no docs beside the tests")
def test_the_lines_of_the_guide_work_before_the_first_round_and_after(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = blocks(GUIDE, "python", section="A loop that can be restarted")
    for number in (1, 2, 3):
        exec(block.text, {})
        assert load_state("training.state", rule=krum_trimmed_mean(n_malicious=2)).watch.round == number
