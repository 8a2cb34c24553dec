import json
import re
import sys
from pathlib import Path

import pytest

from holdfast.lab.conformance import growth

from .test_run import holdfast

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_one_of_ours_passes_and_exits_with_zero():
    result = holdfast("check", "trimmed-mean", "--set", "alpha=0.2", "--no-time")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("trimmed_mean(alpha=0.2) passes\n")
    assert "withstands 2 of 10 and 4 of 20 who collude; it is set for 2 and 4" in result.output


def test_plain_averaging_fails_and_exits_with_three():
    result = holdfast("check", "fedavg", "--no-time", "--json")
    assert result.exit_code == 3
    certificate = json.loads(result.output)
    assert not certificate["passed"]
    assert "plain averaging" in [one["name"] for one in certificate["clauses"] if one["verdict"] == "fail"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["kurm"], "no rule 'kurm'; did you mean 'krum'?"),
        (["nowhere.py:mine"], "no file nowhere.py"),
        (["median", "--set", "tau=0.6"], "median has no setting 'tau'"),
        (
            ["invariant", "--set", "tau=7"],
            "tau, the agreement of signs a coordinate needs, must be in [0, 1]",
        ),
        (["trimmed_mean", "--set", "alpha=no"], "alpha"),
        (["nnm+krum", "--set", "n_malicious=-1"], "n_malicious must be a whole number of at least 0; got -1"),
    ],
)
def test_a_rule_that_is_not_there_is_one_line(words, said):
    result = holdfast("check", *words)
    assert result.exit_code == 1
    assert said in result.output
    assert "Traceback" not in result.output


def test_the_certificates_on_the_page_are_those_of_the_rule_on_it(tmp_path, monkeypatch):
    text = PAGE.read_text()
    (code,) = re.findall(r"```python\n# mine\.py\n(.*?)```", text, re.S)
    (flaw, mended) = re.search(r"`(limit / lengths)`.*?`(limit / np\.maximum\([^`]+)`", text, re.S).groups()
    flawed, sound = re.findall(r"```console\n\$ holdfast check mine\.py:clipped_median\n(.*?)```", text, re.S)
    monkeypatch.setattr(growth, "seconds", lambda rule, n, dim: 1e-6 * n * dim)  # whatever the machine does
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "mine", None)
    del sys.modules["mine"]  # as it was, once the test is over
    for expected, source in ((flawed, code), (sound, code.replace(flaw, mended))):
        Path("mine.py").write_text(source)
        result = holdfast("check", "mine.py:clipped_median")
        assert result.output == expected
        assert result.exit_code == (3 if expected is flawed else 0)
