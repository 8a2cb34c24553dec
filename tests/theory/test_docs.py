import doctest
import re
from pathlib import Path

import pytest

from holdfast import theory
from holdfast.theory import advise

PAGE = Path(__file__).parents[2] / "docs" / "theory.md"


def test_the_examples_on_the_page_run():
    failed, tried = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert tried > 0
    assert failed == 0


def test_every_function_that_the_page_names_is_there():
    named = set(re.findall(r"`([A-Za-z]+_[A-Za-z_]+)`", PAGE.read_text()))
    assert len(named) > 10
    assert named <= set(theory.__all__)


def test_every_figure_on_the_page_is_there():
    named = re.findall(r"figures/[\w-]+\.png", PAGE.read_text())
    assert named
    assert all((PAGE.parent / name).is_file() for name in named)


@pytest.mark.parametrize(
    ("federation", "task", "row"),
    [
        ((20, 20, 300), "cifar10", 1),
        ((10, 15, 300), "twitter", 2),
        ((20, 20, 20), "phishing", 3),
    ],
)
def test_the_advice_on_the_page_is_the_advisers(federation, task, row):
    n_malicious, n_per_round, n_rounds = federation
    advice = advise(n_clients=100, n_malicious=n_malicious, n_per_round=n_per_round, n_rounds=n_rounds)
    cells = {
        line.split("|")[1].strip(" *…"): line.split("|")[row + 1].strip(" *")
        for line in PAGE.read_text().splitlines()
        if line.count("|") == 5
    }
    best, printed = advice.recommended, advice.published[task]
    assert cells["advice: τ, α"] == f"{best.tau:g}, {best.alpha:g}"
    assert cells["every risk at most 1 %"] == ("yes" if advice.within_risk else "no")
    assert cells["direction sure"] == ("yes" if printed.direction_is_sure else "no")
    assert _number(cells["a round with more attackers than trimmed"]) == pytest.approx(
        printed.more_than_trimmed, rel=0.01
    )
    assert _number(cells["in some round"]) == pytest.approx(printed.more_than_trimmed_ever, rel=0.01)
    assert _number(cells["attacked coordinate may be turned, per round"]) == pytest.approx(
        printed.misled, rel=0.25
    )
    assert _number(cells["some round has more attackers than trimmed"]) == pytest.approx(
        best.more_than_trimmed_ever, rel=0.02
    )
    assert _number(cells["attacked coordinate turned, in some round"]) == pytest.approx(
        best.misled_ever, rel=0.1
    )


def _number(cell):
    return float(cell.removesuffix(" %")) / 100 if cell.endswith("%") else float(cell)
