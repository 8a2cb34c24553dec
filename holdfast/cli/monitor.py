"""holdfast monitor: a federation as a live page, or as a page to keep."""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import InputError
from . import options
from .shown import errors_shown

if TYPE_CHECKING:
    from ..report.monitor import MonitorServer

__all__ = ["monitor_command"]

#: The token, where it is not to be made up; whoever lists processes does not see it there.
VARIABLE = "HOLDFAST_MONITOR_TOKEN"
SHORTEST = 16


def monitor_command(
    ledger: Annotated[Path, typer.Option(metavar="FILE", help="Ledger file of the federation (.db).")],
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 7333,
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but localhost requires a token, which is printed.")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Another host name under which browsers reach the page. Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the page as it is now to this file, and exit."),
    ] = None,
) -> None:
    """Serve a live page on a running federation: who is suspected, who was dropped, how training goes."""
    with errors_shown():
        from ..report import check_installed

        check_installed("jinja2")
        if out is not None:
            from ..report.monitor import write_monitor_page

            options.check_page_name(out)
            write_monitor_page(ledger, out)
            typer.echo(f"A page to open: {out}")
            return
        token = _token(host)
        with _listening(ledger, host, port, name or [], token) as server:
            where = server.url if token is None else f"{server.url}?token={token}"
            typer.echo(f"The page of {ledger}: {where}")
            typer.echo(f"For Prometheus: {server.url}metrics")
            if not ledger.exists():
                typer.echo(f"There is no {ledger} yet: the page waits for it.")
            typer.echo("Stop with Ctrl+C.")
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                typer.echo("Stopped.")


def _token(host: str) -> str | None:
    """Return the token that is set or, where others reach the server, a new one; None if none is needed."""
    from ..report.monitor.guard import is_loopback

    token = os.environ.get(VARIABLE)
    if token is None:
        return None if is_loopback(host) else secrets.token_urlsafe(24)
    if (
        len(token) < SHORTEST
        or not all(char.isalnum() or char in "-_" for char in token)
        or not token.isascii()
    ):
        raise InputError(f"{VARIABLE} must be {SHORTEST} or more letters, digits, - and _")
    return token


def _listening(ledger: Path, host: str, port: int, names: list[str], token: str | None) -> "MonitorServer":
    from ..report.monitor import MonitorServer
    from ..report.monitor.guard import Guard

    try:
        return MonitorServer(ledger, host=host, port=port, guard=Guard(names=[host, *names], token=token))
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}."
            " Name another --port; 0 takes a free one"
        ) from None
