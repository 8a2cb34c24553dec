import numpy as np
import pytest
import typer
from rich.console import Console

from holdfast import defend, median
from holdfast.cli.shown import errors_shown
from holdfast.cli.verdicts import show_conclusion
from holdfast.report.conclusions import Conclusion


def test_a_file_of_any_name_is_named_in_one_line_that_can_be_printed(capsys, tmp_path):
    with pytest.raises(typer.Exit) as ended, errors_shown():
        (tmp_path / "a\x1b[2J\n\udcff").read_bytes()
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == f"{tmp_path}/a\\x1b[2J\\n\\udcff: No such file or directory\n"


def test_an_error_in_a_function_of_the_users_is_one_line_too(capsys):
    with pytest.raises(typer.Exit), errors_shown():
        defend(np.ones((3, 2)), lambda updates: updates.nothing)
    said = capsys.readouterr().err
    assert said.startswith("AttributeError: ")
    assert "in <lambda> (test_shown.py, line " in said
    assert said.count("\n") == 1


def test_an_error_in_holdfast_keeps_its_traceback(monkeypatch):
    monkeypatch.setattr("holdfast.defending.capped", None)
    with pytest.raises(TypeError), errors_shown():
        defend(np.ones((3, 2)), median)


def test_a_conclusion_tells_a_command_from_a_line_of_python(capsys):
    told = Conclusion(
        "kept out", "2.0 % ...", "Nobody.", "Try another seed:", "holdfast run x", code="defend(x)"
    )
    show_conclusion(told, Console(width=80))
    assert capsys.readouterr().out.splitlines()[-4:] == [
        *("  Next: Try another seed:".ljust(80), "    holdfast run x"),
        *("  In a server of your own:", "    defend(x)"),
    ]
