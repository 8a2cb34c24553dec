import numpy as np
import pytest
import typer

from holdfast import defend, median
from holdfast.cli.shown import errors_shown


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
