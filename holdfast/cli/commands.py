"""All commands, under one name."""

from typing import Annotated

import typer

from .. import __version__
from . import (
    advise,
    aggregate,
    check,
    clients,
    compare,
    data,
    listing,
    monitor,
    probe,
    report,
    reproduce,
    results,
    run,
    theory,
)
from .demo import demo
from .shown import ENDINGS
from .suggesting import Commands, spelt_as_here

__all__ = ["app"]

app = typer.Typer(
    name="holdfast",
    help="Defend federated learning against backdoors, and measure how well that works.",
    epilog=ENDINGS,
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": spelt_as_here},
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,  # a tracker's token may be among them
)
app.command()(demo)
app.command("run")(run.run_command)
app.command("compare")(compare.compare_command)
app.command("probe")(probe.probe_command)
app.command("reproduce")(reproduce.reproduce_command)
app.command("list")(listing.list_command)
app.command("report")(report.report_command)
app.command("monitor")(monitor.monitor_command)
app.command("aggregate")(aggregate.aggregate_command)
app.command("advise")(advise.advise_command)
app.command("check")(check.check_command)
app.command("rewind")(clients.rewind_command)
app.add_typer(clients.app, name="clients")
app.add_typer(results.app, name="results")
app.add_typer(theory.app, name="theory")
app.add_typer(data.app, name="data")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"holdfast {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
