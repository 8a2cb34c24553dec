"""holdfast merge: the next global model from what the shards have found."""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .aggregate import Memory, Report, told
from .shown import errors_shown

__all__ = ["merge_command"]


def merge_command(
    out: Annotated[Path, typer.Argument(help="The output that the shards were given.")],
    memory: Memory = "1GB",
    report: Report = None,
    as_json: options.Json = False,
) -> None:
    """Write the model of a round that was done by 'holdfast aggregate --shard i/n'.

    >>> merge_command.__name__
    'merge_command'
    """
    with errors_shown():
        from ..files.room import Room, n_bytes_of
        from ..files.shards import merge_shards
        from ..files.told import load_round

        given, _ = load_round(out)
        said = merge_shards(out, Room(out.resolve().parent, n_bytes_of(memory)))
        told(said, given, out, report, as_json=as_json)
