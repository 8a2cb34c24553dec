"""holdfast check: whether a rule keeps the contract."""

import json
from typing import Annotated

import typer

from . import options
from .shown import Ending, errors_shown

__all__ = ["check_command"]


def check_command(
    rule: Annotated[
        str,
        typer.Argument(
            metavar="RULE", help="A rule: invariant, or your own as mine.py:my_rule or mine.my_rule."
        ),
    ],
    set_: options.Settings = None,
    no_time: Annotated[
        bool,
        typer.Option("--no-time", help="Skip the check of how the time grows, which depends on the machine."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check a rule against the contract, and print a short certificate; exit with 3 if it fails."""
    with errors_shown():
        from ..lab.conformance import check
        from ..lab.conformance.naming import rule_named

        certificate = check(rule_named(rule, options.settings(set_)), timed=not no_time)
    typer.echo(json.dumps(certificate.as_dict(), indent=2) if as_json else str(certificate))
    if not certificate.passed:
        raise typer.Exit(Ending.NO)
