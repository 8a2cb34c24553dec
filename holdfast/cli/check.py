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
            metavar="RULE",
            help="Name of a rule, such as invariant, or your own: mine.py:my_rule or mine.my_rule.",
        ),
    ],
    set_: options.RuleSettings = None,
    no_time: Annotated[
        bool,
        typer.Option("--no-time", help="Skip the timing check, which depends on the machine."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Check that a rule keeps the contract of all rules, and print a certificate; exit with 3 if it fails."""
    with errors_shown():
        from ..lab.conformance import check
        from ..lab.conformance.naming import rule_named

        certificate = check(rule_named(rule, options.settings(set_)), timed=not no_time)
    typer.echo(json.dumps(certificate.as_dict(), indent=2) if as_json else str(certificate))
    if not certificate.passed:
        raise typer.Exit(Ending.NO)
