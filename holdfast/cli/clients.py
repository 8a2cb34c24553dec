"""holdfast clients: who is in a federation, and what is decided about them; holdfast rewind: the way back."""

import getpass
import json
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.counting import counted
from .._support.printable import printable
from ..errors import InputError
from ..watching.verdicts import ACCUSED
from . import options
from .clients_shown import client_history, client_table
from .shown import Ending, errors_shown
from .suggesting import Commands

if TYPE_CHECKING:
    from ..ledger import Ledger
    from ..ledger.opening import Action

__all__ = ["app", "rewind_command"]

app = typer.Typer(
    help="Show the clients in a ledger, and ban or pardon them while a training runs.",
    cls=Commands,
    no_args_is_help=True,
)

Client = Annotated[str, typer.Argument(metavar="CLIENT", help="The client's id, as 'clients list' shows it.")]
Why = Annotated[str, typer.Option(help="The reason, for the ledger and the audit log.")]
By = Annotated[str | None, typer.Option(help="Who decides; by default your user name.")]


class Shown(StrEnum):
    """Which clients are listed."""

    ALL = "all"
    NAMED = "named"
    BANNED = "banned"
    DROPPED = "dropped"


#: What to say where there is nobody to list.
NOBODY = {
    Shown.ALL: "Nobody has taken part yet.",
    Shown.NAMED: "Nobody is suspected or expelled.",
    Shown.BANNED: "Nobody is banned or pardoned.",
    Shown.DROPPED: "Nobody was dropped.",
}


@app.command("list")
def list_command(
    ledger: options.Ledger,
    only: Annotated[
        Shown,
        typer.Option(
            help="named: suspected or expelled; banned: banned or pardoned; dropped: dropped at least once."
        ),
    ] = Shown.ALL,
    as_json: options.Json = False,
) -> None:
    """List all clients with their standing, and how often each was used and dropped."""
    with errors_shown():
        from ..ledger import open_ledger

        with open_ledger(ledger, read_only=True) as opened:
            about, found = opened.overview(), opened.clients()
    found = [one for one in found if _is_shown(one, only)]
    if as_json:
        typer.echo(json.dumps({"overview": about, "clients": found}))
        return
    last = about["last"]["round"] if about["last"] else 0
    counts = ", ".join(f"{about[f'n_{name}']} {name}" for name in ("expelled", "suspected", "banned"))
    counts += f", {about['n_as_one']} count as one" if about["n_as_one"] else ""
    present = counted(about["n_clients"], "client")
    if about["n_former"]:
        present += f" now, {about['n_former']} known from before"
    typer.echo(f"{counted(last, 'round')}, {present}: {counts}")
    if not found:
        typer.echo(NOBODY[only])
        return
    for line in client_table(found):
        typer.echo(line)
    typer.echo(
        f"More about one: {shlex.join(['holdfast', 'clients', 'show', 'CLIENT', '--ledger', str(ledger)])}"
    )


@app.command("show")
def show_command(client: Client, ledger: options.Ledger, as_json: options.Json = False) -> None:
    """Show everything known about one client: its standings, its last rounds, and decisions about it."""
    with errors_shown():
        from ..ledger import open_ledger

        with open_ledger(ledger, read_only=True) as opened:
            found = opened.client(_id_in(opened, client))
    if as_json:
        typer.echo(json.dumps(found))
        return
    for line in client_history(found):
        typer.echo(line)


@app.command("ban")
def ban_command(client: Client, ledger: options.Ledger, why: Why = "", by: By = None) -> None:
    """Exclude a client, from the next round of a running training on; this also answers a held round."""
    _decide("ban", client, ledger, why, by)


@app.command("pardon")
def pardon_command(client: Client, ledger: options.Ledger, why: Why = "", by: By = None) -> None:
    """Let a client take part again, whatever the watch finds; this also answers a held round."""
    _decide("pardon", client, ledger, why, by)


@app.command("audit")
def audit_command(
    ledger: options.Ledger,
    expect: Annotated[
        str | None,
        typer.Option(
            metavar="HASH",
            help="Hash that you stored elsewhere (the head of the log at that time); it must be in the log.",
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Check that the audit log was not edited and agrees with the ledger; exit with 3 if not."""
    with errors_shown():
        from ..ledger import verify

        found = verify(ledger, expect=expect)
    if as_json:
        about = {"n_lines": found.n_lines, "head": found.head, "problems": found.problems}
        typer.echo(json.dumps({"holds": found.holds, **about}))
    else:
        typer.secho(str(found), fg=None if found.holds else "red")
    if not found.holds:
        raise typer.Exit(Ending.NO)


def rewind_command(
    ledger: options.Ledger,
    checkpoint: Annotated[Path, typer.Option(help="Checkpoint file of the training, such as training.npz.")],
    to: Annotated[int, typer.Option(min=1, help="Round to go back to; its checkpoint must have been kept.")],
    why: Why = "",
) -> None:
    """Go back to an earlier round; a training restarted with resume=True continues from there."""
    with errors_shown():
        from ..ledger import open_ledger
        from ..ledger.checkpoints import rewind

        if not ledger.is_file():
            raise InputError(f"no ledger at {ledger}")
        with open_ledger(ledger) as opened:
            undone = rewind(opened, checkpoint, to=to, why=why)
    undone_rounds = counted(len(undone), "round")
    typer.echo(f"{checkpoint} is that of round {to} now. Marked as undone: {undone_rounds} after it")


def _decide(action: "Action", client: str, ledger: Path, why: str, by: str | None) -> None:
    with errors_shown():
        from ..ledger import open_ledger

        if not ledger.is_file():
            raise InputError(f"no ledger at {ledger}")
        with open_ledger(ledger) as opened:
            id = _id_in(opened, client)
            opened.decide(action, id, why=why, by=_user() if by is None else by)
            is_former = opened.client(id)["former"]
    done = f"client {printable(id)} is {'banned' if action == 'ban' else 'pardoned'}"
    if is_former:
        typer.echo(f"{done}, but its id has not come back since clients got new ids: this reaches nobody now")
        return
    typer.echo(f"{done}; a running training follows in its next round")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a list of users
        return "operator"


def _id_in(ledger: "Ledger", text: str) -> int | str:
    """Return the id that is meant: a number, or text; in quotes it is text."""
    from .._support.lookup import nearest

    known = [one["id"] for one in ledger.clients()]
    if text.startswith('"') and text.endswith('"') and text[1:-1] in known:
        return text[1:-1]
    found = [id for id in known if str(id) == text]
    if len(found) > 1:
        raise InputError(
            f"there are two clients {text}, a number and a text; write '\"{text}\"' for the text"
        )
    if not found:
        hint = nearest(text, [str(id) for id in known])
        raise InputError(f"no client {printable(text)} in {ledger.path}; {hint}".rstrip("; "))
    id: int | str = found[0]
    return id


def _is_shown(one: dict[str, Any], only: Shown) -> bool:
    shown: dict[Shown, bool] = {
        Shown.ALL: True,
        Shown.NAMED: one["standing"] in ACCUSED,
        Shown.BANNED: one["banned"] or one["pardoned"],
        Shown.DROPPED: one["n_dropped"] > 0,
    }
    return shown[only]
