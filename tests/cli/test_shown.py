import pytest
import typer

from holdfast.cli.shown import errors_shown


def test_a_file_of_any_name_is_named_in_one_line_that_can_be_printed(capsys, tmp_path):
    with pytest.raises(typer.Exit) as ended, errors_shown():
        (tmp_path / "a\x1b[2J\n\udcff").read_bytes()
    assert ended.value.exit_code == 1
    assert capsys.readouterr().err == f"{tmp_path}/a\\x1b[2J\\n\\udcff: No such file or directory\n"
