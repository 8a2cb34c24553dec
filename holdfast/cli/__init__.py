"""The command line: one file a command, argument parsing only."""

import typer

from . import advise, theory

__all__ = ["app", "main"]

app = typer.Typer(
    help="Federated training that holds fast against backdoors.", no_args_is_help=True, add_completion=False
)
app.command("advise")(advise.advise_command)
app.add_typer(theory.app, name="theory")


def main() -> None:
    """Run the command line."""
    app()
