"""holdfast aggregate: the next global model from the clients' files."""

import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from .._support.printable import printable
from .._support.writable import check_writable_file, check_writable_folder
from ..errors import InputError
from . import options
from .chosen import rule_and_watch
from .next_round import step_after
from .shown import Ending, errors_shown
from .verdicts import show_conclusion

if TYPE_CHECKING:
    from ..files import Aggregated
    from ..report.next_steps import Step

__all__ = ["aggregate_command"]

LONG = 4096
MEMORY = "1GB"


def aggregate_command(
    clients: Annotated[
        list[Path], typer.Argument(help="One safetensors file, folder or index file per client.")
    ],
    base: Annotated[Path, typer.Option(help="The global model; clients' models must have the same tensors.")],
    out: Annotated[
        Path, typer.Option(help="File for the next global model; replaced once the new one is complete.")
    ],
    names_in: Annotated[
        Path | None,
        typer.Option(
            help="Folder that holds one folder per client; name clients by these folders, not by their files."
        ),
    ] = None,
    rule: Annotated[
        str, typer.Option(help="Aggregation rule; flame does not need to know how many clients attack.")
    ] = "flame",
    set_: options.RuleSettings = None,
    memory: Annotated[
        str, typer.Option(help="Memory to use, such as 500MB or 1GB; what does not fit goes to disk.")
    ] = MEMORY,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Watch the clients across rounds and expel those that attack together; needs --state.",
        ),
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(help="File in which the rule and the watch keep their memory between rounds."),
    ] = None,
    reference: Annotated[
        Path | None, typer.Option(help="The server's own model, for the rule fltrust.")
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help='JSON file with the number of examples per client: {"ann": 120, ...}.')
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Random seed, for rules that add noise and for the watch.")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Aggregate only tensors with such names, as in '*lora*'. Repeatable."),
    ] = None,
    updates: Annotated[
        bool, typer.Option("--updates", help="Clients sent updates (differences from the base), not models.")
    ] = False,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Also measure every client; write this JSON file, and an HTML page of the same name."
        ),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(help="Compute on Ray: ray starts it here, ray://host:port is a running cluster."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="Record the round in this ledger (.db), and leave out clients that are banned there."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Aggregate clients' models from files, in bounded memory.

    If you know that at most 2 clients attack, use --rule krum_trimmed_mean --set n_malicious=2.
    """
    if watch and state is None:
        raise typer.BadParameter(
            "a watch remembers the clients between rounds: name a file for that, --state FILE",
            param_hint="--watch",
        )
    with errors_shown(interrupted=f"Nothing was written: {printable(out, limit=LONG)} is as it was."):
        from ..files import aggregate_files

        _check_paths(clients, out, state)
        if report is not None:
            own = {"the base": base, "the output": out, "the state": state, "the reference": reference}
            _check_report(report, clients, {**own, "the weights": weights})
        chosen, watching = rule_and_watch(rule, watch=watch, settings=options.settings(set_))
        with options.progress("percent", 100, quiet=as_json) as show, _told_once(as_json=as_json):
            said = aggregate_files(
                clients,
                chosen,
                base=base,
                out=out,
                names_in=names_in,
                weights=weights,
                reference=reference,
                state=state,
                seed=seed,
                only=only or (),
                are_updates=updates,
                explain=report is not None,
                memory=memory,
                workers=workers,
                watch=watching,
                ledger=ledger,
                progress=lambda number, done, total: show(100 * done // total, f"of pass {number}"),
            )
    facts = {"rule": str(chosen), "base": printable(base, limit=LONG), "out": printable(out, limit=LONG)}
    if watching is not None:
        facts["watch"] = str(watching)
    typed = {
        "--names-in": names_in,
        "--rule": rule,
        "--set": set_,
        "--only": only,
        "--updates": updates,
        "--weights": weights,
        "--reference": reference,
        "--seed": seed,
        "--watch": watch,
        "--state": state,
        "--ledger": ledger,
        "--memory": None if memory == MEMORY else memory,
        "--workers": workers,
        "--report": report,
        "--json": as_json,
    }
    step = step_after(said, clients, base=base, out=out, typed=typed)
    with errors_shown(Ending.UNREPORTED):  # the model is written
        _tell(said, facts, report, step, as_json=as_json)
    if not said.diagnostics.aggregated and not said.is_hearing:
        raise typer.Exit(Ending.NO)


@contextmanager
def _told_once(*, as_json: bool) -> Iterator[None]:
    """Keep out of the log what the text says anyway: who was dropped or accused, why nothing was applied."""
    logs = [] if as_json else [logging.getLogger(f"holdfast.{name}") for name in ("rounds", "verdicts")]
    before = [log.disabled for log in logs]
    try:
        for log in logs:
            log.disabled = True
        yield
    finally:
        for log, was in zip(logs, before, strict=True):
            log.disabled = was


def _check_paths(clients: list[Path], out: Path, state: Path | None) -> None:
    """Raise, before any work is done, for what the operator mistyped.

    What is there and broken, a dangling link too, may be a client's doing, and is dropped in the round.
    """
    missing = [client for client in clients if not os.path.lexists(client)]
    if missing:
        first = printable(missing[0], limit=LONG)
        more = f", and {len(missing) - 1} more of the given paths" if len(missing) > 1 else ""
        hint = ""
        if str(missing[0]) == "factions":
            hint = "; --watch takes no value here: it is always factions, so leave the name out"
        raise InputError(f"there is no file or folder {first}{more}{hint}; nothing was written")
    for path in filter(None, (out, state)):
        check_writable_folder(path.parent)


def _check_report(report: Path, clients: list[Path], own: dict[str, Path | None]) -> None:
    """Raise, before any work is done, if the report could not be written or would replace something else."""
    from ..files.paths import check_roles
    from ..report import check_installed
    from ..report.pages import round_paths

    check_installed("jinja2")
    document, page = round_paths(report)
    check_roles(clients, {**own, "the report": document, "the report's page": page})
    for path in (document, page):
        check_writable_file(path)


def _tell(
    said: "Aggregated", facts: dict[str, str], report: Path | None, step: "Step", *, as_json: bool
) -> None:
    """Print what there is to say about a round, and write the report if one is asked for."""
    from ..report.concluding import conclude_round

    document = {**facts, **said.as_dict()}
    conclusion = conclude_round(document, step=step)
    document["conclusion"] = conclusion.as_dict()
    if as_json:
        typer.echo(json.dumps(document))
    else:
        what = "the next model" if said.diagnostics.aggregated else "the model as it was"
        typer.echo(f"{said}\n{what} is in {facts['out']}")
    if report is not None:
        from ..report.pages import write_round

        page = write_round(document, report)
        if not as_json:
            typer.echo(f"the report is in {printable(page, limit=LONG)}")
    if not as_json:
        show_conclusion(conclusion, Console(highlight=False))
