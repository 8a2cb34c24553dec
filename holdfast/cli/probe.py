"""holdfast probe: every rule on the same round, in one training of its clients."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .._support.writable import check_writable_file, check_writable_folder
from . import options
from .shown import errors_shown, same_command, stopping

if TYPE_CHECKING:
    from ..comparing.making import Progress
    from ..comparing.probed import Probed

__all__ = ["probe_command"]


def probe_command(
    task: options.TaskName,
    attack: options.OneAttack = None,
    defences: Annotated[
        str | None,
        typer.Option("--defences", help="Comma-separated rules; by default all that holdfast has."),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            min=0, help="Start after this many rounds of plain averaging; by default from a fresh network."
        ),
    ] = None,
    warm: Annotated[
        float | None,
        typer.Option(
            help="Start after this many epochs of central training on all honest examples; with --scale"
            " paper, 2 by default."
        ),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(
            help="Start from a model file: a checkpoint (.npz), .safetensors, or a PyTorch state dict."
        ),
    ] = None,
    draws: Annotated[
        int,
        typer.Option(
            min=1, help="Number of rounds to probe, all from the same model, each with other clients."
        ),
    ] = 1,
    set_: options.Settings = None,
    clients: options.Clients = None,
    per_round: options.PerRound = None,
    malicious: options.Malicious = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    sampling: options.Sampled = options.Sampling.FIXED,
    scale: options.Scale = "cpu",
    out: options.Out = Path("results"),
    figure: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Plot leak against gain to this file (.png, .svg or .pdf)."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Train the clients of one round, and see how much of the attack every rule lets through."""
    names = None if defences is None else options.names("--defences", defences)
    with errors_shown():
        from ..comparing.probing import probe
        from ..paper.experiment import runs_folder

        _check_figure(figure)
        check_writable_folder(runs_folder(out))
        found = probe(
            task,
            attack,
            names,
            after=after,
            warm=warm,
            model=model,
            draws=draws,
            settings=options.settings(set_),
            numbers=options.numbers(None, clients, per_round, malicious),
            sampling=sampling.value,
            scale=scale,
            seed=seed,
            out=out,
            progress=_steps_shown(quiet=as_json),
        )
        if figure is not None:
            from ..report.plotting import save

            save(found.figure(), figure)
    if as_json:
        typer.echo(json.dumps(_as_dict(found, figure)))
        return
    typer.echo(found.table(), nl=False)
    if figure is not None:
        typer.echo(f"Written: {figure}")


def _check_figure(figure: Path | None) -> None:
    """Raise, before anything is run, if the figure could not be drawn."""
    if figure is None:
        return
    from ..report import check_installed
    from ..report.plotting import check_kind

    check_installed("matplotlib")
    check_kind(figure.suffix.removeprefix("."))
    check_writable_file(figure)


def _steps_shown(*, quiet: bool) -> "Progress":
    """Return what shows how many steps are done."""

    @contextmanager
    def progress(total: int) -> Iterator[Callable[[int, str], None]]:
        resuming = stopping(
            "What was trained of the model to start from is stored, the probe is not. To resume: "
            + same_command()
        )
        with options.progress("steps", total, quiet=quiet, with_time=False) as show, resuming:
            yield show

    return progress


def _as_dict(found: "Probed", figure: Path | None) -> dict[str, Any]:
    return {
        "task": found.run.task.name,
        "attack": found.run.attack.name,
        "seed": found.run.seed,
        "start": str(found.start),
        "accuracy": found.found.accuracy,
        "attack_success": found.found.attack_success,
        "share": found.share,
        "standings": found.standings,
        "records": found.records,
        "files": [] if figure is None else [str(figure)],
    }
