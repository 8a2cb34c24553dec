"""holdfast results: what is stored, and how it is packed."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.printable import printable
from ..errors import InputError
from . import options
from .shown import errors_shown
from .suggesting import Commands

if TYPE_CHECKING:
    from ..runs.results import Result

__all__ = ["app"]

app = typer.Typer(
    help="List the stored results, or pack them into a few files.", cls=Commands, no_args_is_help=True
)

LONGEST = 400  # a line that says what a run is

Results = Annotated[Path, typer.Argument(help="Folder with the results.")]


@app.command("list")
def list_command(results: Results = Path("results"), as_json: options.Json = False) -> None:
    """List every stored run and study, one line each, and the files that cannot be used, with the reason."""
    with errors_shown():
        from ..paper.experiment import runs_folder
        from ..paper.studies.store import list_studies, studies_folder
        from ..runs.results import list_results

        _check_there(results)
        runs, unusable = list_results(runs_folder(results))
        studies, useless = list_studies(studies_folder(results))
    unusable |= useless
    if as_json:
        about = [{name: study[name] for name in ("key", "description", "version")} for study in studies]
        listed = {"runs": [_as_dict(run) for run in runs], "studies": about, "unusable": unusable}
        typer.echo(json.dumps(listed, indent=2))
        return
    for run in runs:
        typer.echo(printable(_line(run), limit=LONGEST))
    for study in studies:
        what, of = study["description"]["study"], study["description"]["run"]
        line = f"{study['key']}  {of['task']['name']}  {what}  seed {of['seed']}"
        typer.echo(printable(line, limit=LONGEST))
    for where, reason in unusable.items():
        typer.secho(f"{where} cannot be used: {reason}", fg="red", err=True)
    if not (runs or studies or unusable):
        typer.echo(f"There are no results in {results} yet.", err=True)


@app.command("pack")
def pack_command(results: Results = Path("results")) -> None:
    """Move finished results into one file per task, without the details of every client in every round."""
    with errors_shown():
        from ..paper.experiment import runs_folder
        from ..paper.studies.store import pack_studies, studies_folder
        from ..runs.results import pack_results

        _check_there(results)
        runs, studies = pack_results(runs_folder(results)), pack_studies(studies_folder(results))
    typer.echo(f"Packed in {results}: runs {len(runs)}, studies {len(studies)}.")


def _check_there(results: Path) -> None:
    if not results.is_dir():
        raise InputError(f"no results at {results}: make some with 'holdfast run', or name another folder")


def _as_dict(run: "Result") -> dict[str, Any]:
    names = ("key", "description", "version", "device", "finished", "n_done")
    shown = ("accuracy", "attack_success", "minority_accuracy", "n_found", "n_wronged")
    numbers = {name: run.last(name) for name in shown}
    return {name: getattr(run, name) for name in names} | numbers


def _line(run: "Result") -> str:
    """Return a run in one line: what it is, and what came out."""
    defence = run.description["defence"]
    rule = f"{defence['watch']}+{defence['aggregate']}" if "watch" in defence else defence["aggregate"]
    what = f"{run.key}  {run.task}  {run.attack}  {rule}  seed {run.seed}"
    shown = {"Acc": "accuracy", "minority": "minority_accuracy", "ASR": "attack_success"}
    found = {title: run.last(name) for title, name in shown.items()}
    numbers = "".join(f"  {title} {share:.1%}" for title, share in found.items() if share is not None)
    if run.last("n_found") is not None:
        numbers += f"  found {run.last('n_found')}  wrongly {run.last('n_wronged')}"
    return what + (numbers if run.finished else f"  {run.n_done} of {run.n_rounds} rounds")
