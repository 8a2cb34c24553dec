from pathlib import Path

import pytest

from holdfast import bind, multi_krum
from holdfast.errors import DataError, InputError
from holdfast.files.round import FileRound
from holdfast.files.told import load_round, partials_of, rule_named, store_round

ROUND = FileRound(
    (Path("a"), Path("b")),
    Path("base"),
    bind(multi_krum, n_malicious=1),
    weights=Path("counts.json"),
    seed=3,
    only=("*lora*",),
    are_updates=True,
    explain=True,
)


def test_a_round_is_read_back_as_it_was_stored(tmp_path):
    store_round(ROUND, tmp_path / "next", 4)
    store_round(ROUND, tmp_path / "next", 4)
    assert load_round(tmp_path / "next") == (ROUND, 4)
    with pytest.raises(DataError, match="the shards of another round"):
        store_round(ROUND, tmp_path / "next", 5)


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"n_shards": 1, "rule": "median"}'])
def test_a_damaged_round_is_an_error(tmp_path, content):
    partials_of(tmp_path / "next").mkdir()
    (partials_of(tmp_path / "next") / "round.json").write_text(content)
    with pytest.raises(DataError, match="is damaged"):
        load_round(tmp_path / "next")


def test_a_misspelt_rule_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'multi_krum'"):
        rule_named("multikrum", {})
