"""holdfast data: which data sets there are, and the folder they are in."""

import json
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from .._support.writable import check_writable_folder
from ..lab.data.folders import VARIABLE, data_folder
from . import options
from .shown import Ending, errors_shown, same_command
from .suggesting import Commands

if TYPE_CHECKING:
    from ..lab.data.download import Remote, Seen
    from ..lab.data.sources import DataSource, Entry

__all__ = ["app"]

app = typer.Typer(
    name="data",
    help="Download data sets, and check those that are installed.",
    cls=Commands,
    no_args_is_help=True,
)

Names = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Data sets to check; by default all.")
]


@app.command("list")
def list_command(as_json: options.Json = False, data: options.Data = None) -> None:
    """Show every data set: what it is, its licence, its sources, and whether it is installed."""
    from ..lab.data.sources import SOURCES

    with errors_shown():
        described = {name: _describe(entry) for name, entry in SOURCES.items()}
    if as_json:
        typer.echo(json.dumps([*described.values()], indent=2))
        return
    width = Console().width
    for name, entry in SOURCES.items():
        here = "is installed" if described[name]["files"] else "is not installed"
        typer.echo(f"{typer.style(name, bold=True)} {here}")
        sources = [_format_source(source) for source in entry.sources] or [entry.by_hand]
        for line in (entry.what, f"Licence: {entry.licence}", *sources):
            typer.echo(_indented(line, width))
        typer.echo()


@app.command("get")
def get_command(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Data sets to download; see 'holdfast data list'.")
    ],
    source: Annotated[str | None, typer.Option(help="Source to download from, if there are several.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Download even what is installed already.")] = False,
    as_json: options.Json = False,
    data: options.Data = None,
) -> None:
    """Download data sets, check and install them. Interrupted downloads resume."""
    with errors_shown(interrupted=f"What was downloaded is kept. To resume: {same_command()}"):
        from ..lab.data.store import entry_named, get, installed_files

        check_writable_folder(data_folder())
        here = {}
        for name in names:
            here[name] = [] if again else installed_files(entry_named(name))
            if not here[name]:
                with _progress() as bar:
                    here[name] = get(name, source=source, step=partial(_step, bar))
            if not as_json:
                typer.echo(f"{name} is installed: {', '.join(map(str, here[name]))}")
    if as_json:
        typer.echo(
            json.dumps({name: [str(path) for path in paths] for name, paths in here.items()}, indent=2)
        )


@app.command("verify")
def verify_command(names: Names = None, as_json: options.Json = False, data: options.Data = None) -> None:
    """Compare files with their checksums at installation; exit with 3 if one has changed."""
    with errors_shown():
        from ..lab.data.sources import SOURCES
        from ..lab.data.store import entry_named, verify

        checked = [
            {"data": name, "file": file, "state": state}
            for name in names or SOURCES
            for file, state in verify(entry_named(name)).items()
        ]
    if as_json:
        typer.echo(json.dumps(checked, indent=2))
    elif checked:
        for one in checked:
            typer.echo(f"{one['data']}  {one['file']}: {one['state']}")
    else:
        typer.echo(f"none of these data sets is in {data_folder()}: get one with 'holdfast data get NAME'")
    if any(one["state"] == "changed" for one in checked):
        raise typer.Exit(Ending.NO)


@app.command("where")
def where_command(as_json: options.Json = False, data: options.Data = None) -> None:
    """Show the folder of the data sets, and which files in it the tasks read."""
    from ..lab.data.sources import SOURCES
    from ..lab.data.store import installed_files

    with errors_shown():
        files = {entry.name: [str(path) for path in installed_files(entry)] for entry in SOURCES.values()}
    if as_json:
        typer.echo(json.dumps({"folder": str(data_folder()), "files": files}, indent=2))
        return
    typer.echo(f"data sets: {data_folder()} (set {VARIABLE} or --data for another)")
    for name, paths in files.items():
        typer.echo(f"  {name}: {', '.join(Path(path).name for path in paths) or 'not installed'}")


def _step(bar: Progress, remote: "Remote") -> "Seen":
    """Start the bar of a file in place of the last one; return what to call with its progress."""
    for before in bar.task_ids:
        bar.remove_task(before)
    row, last = bar.add_task(remote.name, total=None), time.monotonic()

    def seen(done: int, total: int | None) -> None:
        nonlocal last
        bar.update(row, completed=done, total=total)
        if bar.disable and time.monotonic() - last >= options.SECONDS:  # no terminal: a line now and then
            last = time.monotonic()
            of = f" of {total / 1e6:,.1f}" if total else ""
            typer.echo(f"{remote.name}: {done / 1e6:,.1f}{of} MB", err=True)

    return seen


def _describe(entry: "Entry") -> dict[str, Any]:
    from ..lab.data.store import installed_files

    def describe_file(remote: "Remote") -> dict[str, Any]:
        exact = remote.n_bytes if remote.sha256 else None
        about = "" if exact else remote.size.removeprefix("about ")
        digest = remote.sha256 or "unverified"
        return {"address": remote.address, "bytes": exact, "about": about, "sha256": digest}

    return {
        "name": entry.name,
        "what": entry.what,
        "licence": entry.licence,
        "sources": [
            {"name": source.name, "files": [describe_file(remote) for remote in source.files]}
            for source in entry.sources
        ],
        "by_hand": entry.by_hand,
        "files": [str(path) for path in installed_files(entry)],
    }


def _indented(text: str, width: int) -> str:
    """Return the text on lines of a width; no name and no address is broken, to be copied whole."""
    filled = textwrap.TextWrapper(width - 4, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent(filled.fill(text), "    ")


def _format_source(source: "DataSource") -> str:
    """Return in a line or two where the files of a source are, how large they are, and their checksum."""
    first, total = source.files[0], sum(remote.n_bytes for remote in source.files)
    kind, _, package = first.address.partition(":")
    where = package.partition(":")[0] if kind in ("npm", "debian") else first.address
    if all(remote.sha256 for remote in source.files):
        size, digest = f"{total:,} bytes", f"sha256 {str(first.sha256)[:12]}..."
    else:
        size, digest = f"about {total / 1e6:.3g} MB", "unverified"
    if len(source.files) > 1:
        where, size = where.removesuffix(f"/{first.name}"), f"{len(source.files)} files, {size}"
        digest = "each with its sha256" if digest != "unverified" else digest
    return f"{source.name}: {where} ({size}, {digest})"


def _progress() -> Progress:
    """Return a bar of bytes on the error output, silent where that is piped away."""
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
