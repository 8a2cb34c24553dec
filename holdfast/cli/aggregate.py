"""holdfast aggregate: the next global model from the clients' files."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .shown import errors_shown

if TYPE_CHECKING:
    from ..diagnostics import Diagnostics
    from ..files.room import Room
    from ..files.round import FileRound

__all__ = ["aggregate_command", "told"]

Memory = Annotated[str, typer.Option(help="Memory of its own, as 500MB or 1GB; the rest goes to the disk.")]
Report = Annotated[
    Path | None, typer.Option(help="Measure each client; write this JSON, and a page (.html) beside it.")
]


def aggregate_command(
    clients: Annotated[
        list[Path], typer.Argument(help="safetensors files, folders or indices; one a client.")
    ],
    base: Annotated[Path, typer.Option(help="The global model: its names, shapes and types count.")],
    out: Annotated[Path, typer.Option(help="Where the next model goes; replaced when that is whole.")],
    rule: Annotated[str, typer.Option(help="The rule, such as invariant, median or rfa.")] = "invariant",
    set_: options.Settings = None,
    memory: Memory = "1GB",
    state: Annotated[Path | None, typer.Option(help="What the rule keeps between rounds.")] = None,
    reference: Annotated[Path | None, typer.Option(help="The server's own model, for fltrust.")] = None,
    weights: Annotated[Path | None, typer.Option(help='Examples held: {"ann": 120, ...} as JSON.')] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of random numbers, for weak_dp.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Aggregate these tensors alone: '*lora*'.")] = None,
    updates: Annotated[bool, typer.Option("--updates", help="Clients sent differences, not models.")] = False,
    report: Report = None,
    shard: Annotated[str | None, typer.Option(metavar="I/N", help="Do one slice; see 'merge'.")] = None,
    workers: Annotated[str | None, typer.Option(help="Where to work: ray, or ray://address:port.")] = None,
    as_json: options.Json = False,
) -> None:
    """Aggregate clients' models that lie in files, in bounded memory.

    >>> aggregate_command.__name__
    'aggregate_command'
    """
    with errors_shown():
        from ..files.aggregating import finish_round
        from ..files.room import Room, n_bytes_of
        from ..files.round import FileRound
        from ..files.told import rule_named

        bound = rule_named(rule, options.settings(set_))
        given = FileRound(
            tuple(clients),
            base,
            bound,
            weights=weights,
            reference=reference,
            state=state,
            seed=seed,
            only=tuple(only or ()),
            are_updates=updates,
            explain=report is not None,
        )
        with options.progress(quiet=as_json) as bar:
            line = bar.add_task("pass 1", total=None, said="")

            def watch(number: int, done: int, total: int) -> None:
                bar.update(line, description=f"pass {number}", completed=done, total=total)

            room = Room(out.resolve().parent, n_bytes_of(memory), watch)
            if shard is not None:
                _do_shard(given, out, room, shard, as_json=as_json)
                return
            if workers is not None:
                from ..files.ray_shards import ray_room

                room = ray_room(given, out, room.memory, workers, watch)
            said = finish_round(given, out, room)
        told(said, given, out, report, as_json=as_json)


def _do_shard(given: "FileRound", out: Path, room: "Room", shard: str, *, as_json: bool) -> None:
    """Do one slice of all passes that can be done, and say what comes next."""
    from ..files.shards import MoreToDo, run_shard

    if not re.fullmatch(r"\d{1,6}/\d{1,6}", shard):
        raise typer.BadParameter(f"is written i/n, as 1/4; got {shard!r}", param_hint="--shard")
    number, n_shards = map(int, shard.split("/"))
    missing: list[int] = []
    n_pass = None
    try:
        run_shard(given, out, room, number, n_shards)
    except MoreToDo as more:
        missing, n_pass = more.missing, more.number
    if as_json:
        typer.echo(json.dumps({"shard": number, "n_shards": n_shards, "pass": n_pass, "missing": missing}))
    elif missing:
        which = ", ".join(f"{n}/{n_shards}" for n in missing)
        typer.echo(
            f"pass {n_pass} is done here; {which} must do it too. Then: all shards once more, or merge"
        )
    else:
        typer.echo(f"all passes are done; write the model with: holdfast merge {out}")


def told(said: "Diagnostics", given: "FileRound", out: Path, report: Path | None, *, as_json: bool) -> None:
    """Print, and write where asked to, what there is to say of the round; exit with 3 if nothing moved.

    >>> told.__name__
    'told'
    """
    facts = {"rule": str(given.rule), "base": str(given.base), "out": str(out)}
    page = None
    if report is not None:
        from ..files.page import write_report

        page = write_report(report, said, facts)
    if as_json:
        typer.echo(json.dumps({**facts, "diagnostics": said.as_dict()}))
    else:
        typer.echo(str(said))
        where = "the model as it was is" if not said.aggregated else "the next model is"
        typer.echo(f"{where} in {out}" + (f"; the report in {page}" if page else ""))
    if not said.aggregated:
        raise typer.Exit(3)
