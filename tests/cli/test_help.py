import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app


def commands(shown=app, before=()):
    """Yield the words of every command there is."""
    for command in shown.registered_commands:
        yield (*before, command.name or command.callback.__name__)
    for group in shown.registered_groups:
        yield from commands(group.typer_instance, (*before, group.name))


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_help_says_what_a_command_does_without_its_docstrings_example(words):
    result = CliRunner().invoke(app, [*words, "--help"])
    assert result.exit_code == 0
    assert ">>>" not in result.output
    assert "Options" in result.output


@pytest.mark.parametrize("columns", [60, 80])
@pytest.mark.parametrize("words", [(), *commands()], ids=" ".join)
def test_help_cuts_no_name(words, columns):
    assert "…" not in CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": str(columns)}).output
