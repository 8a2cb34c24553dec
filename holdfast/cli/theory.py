"""holdfast theory: check the formulas against the rules, and draw the figures."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .._support.writable import check_writable_folder
from ..theory import Finding, check_theory
from .shown import Ending, errors_shown
from .suggesting import Commands

__all__ = ["app", "check", "figures"]

app = typer.Typer(help="Check the theory, and draw its figures.", cls=Commands, no_args_is_help=True)


@app.command()
def check(
    samples: Annotated[int, typer.Option(min=1, help="Number of coordinates per simulation.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Run the rules on simulated gradients, and compare what they do with every formula."""
    with errors_shown():
        findings = check_theory(n_samples=samples, seed=seed)
    n_wrong = sum(not finding.holds for finding in findings)
    if as_json:
        rows = [asdict(f) | {"deviation": f.deviation, "holds": f.holds} for f in findings]
        typer.echo(json.dumps(rows, indent=2))
    else:
        for line in _lines(findings):
            typer.echo(line)
        typer.echo(
            f"\n{len(findings) - n_wrong} of {len(findings)} within 4 standard errors of what the rules do,"
            f" with {samples} samples each; 'by flips' is an exact count."
        )
    if n_wrong:
        raise typer.Exit(Ending.NO)


@app.command()
def figures(
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("figures"),
) -> None:
    """Draw the figures of the paper that the theory explains."""
    with errors_shown():
        from ..report.theory_figures import draw_theory

        check_writable_folder(out)
        for path in draw_theory(out):
            typer.echo(str(path))


def _lines(findings: tuple[Finding, ...]) -> Iterator[str]:
    yield f"{'':24}{'as printed':>12}{'exact':>12}{'measured':>12}{'s.e. off':>10}"
    before = ""
    for finding in findings:
        if finding.statement != before:
            yield finding.statement
        before = finding.statement
        printed = "" if finding.printed is None else f"{finding.printed:.4g}"
        off = "equal" if finding.n_samples is None and finding.holds else f"{finding.deviation:+.1f}"
        numbers = f"{printed:>12}{finding.formula:>12.4g}{finding.measured:>12.4g}{off:>10}"
        yield f"  {finding.event:22}{numbers}" + ("" if finding.holds else "  WRONG")
