"""The demo's figure, and a self-contained page around it."""

import html
import io
from pathlib import Path

from matplotlib.figure import Figure

from ..errors import InputError
from .demo import N_ATTACKERS, N_CLIENTS, Standing

__all__ = ["draw", "write_page"]

LEARNED, LET_IN = "#2a6f97", "#c8553d"

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>holdfast: which rules were moved?</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }}
  table {{ border-collapse: collapse; width: 100%; }}
  th, td {{ padding: .3rem .6rem; border-bottom: 1px solid #8884; text-align: left; }}
  .number {{ text-align: right; font-variant-numeric: tabular-nums; }}
  .holds {{ color: #2e8b57; }} .is-moved {{ color: #d0473a; }} .hardly-learns {{ color: #b8860b; }}
  figure {{ margin: 1rem 0; background: #fff; border-radius: 6px; }} svg {{ width: 100%; height: auto; }}
</style>
<h1>Which rules did the attackers move?</h1>
<p>{clients} clients send updates; {attackers} of them push together for a backdoor, in coordinates that the
task does not use, and elsewhere stay close to the honest average. Every rule aggregates the same ten rounds
of made-up updates, in one setting. The numbers are shares of what plain averaging (<code>fedavg</code>) lets
in, and of what it would learn from honest clients alone; below zero, the backdoor was pushed away.</p>
<figure>{figure}</figure>
<table>
<tr><th>rule<th class="number">still learns<th class="number">backdoor let in<th>verdict</tr>
{rows}
</table>
</html>
"""


def write_page(standings: list[Standing], folder: Path) -> Path:
    """Write report.html and the figure as rules.png into the folder; return the page's path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page([Standing("fedavg", 1.0, 1.0)], Path(folder)).name
    'report.html'
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} must be a folder that can be written to: {error.strerror}") from None
    figure = draw(standings)
    figure.savefig(folder / "rules.png", dpi=150)
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    rows = "\n".join(
        f"<tr><td>{html.escape(s.rule)}<td class=number>{s.learned:z.0%}<td class=number>{s.let_in:z.0%}"
        f'<td class="{s.verdict.replace(" ", "-")}">{s.verdict}</tr>'
        for s in _ordered(standings)
    )
    page = folder / "report.html"
    svg = drawn.getvalue()
    page.write_text(
        PAGE.format(clients=N_CLIENTS, attackers=N_ATTACKERS, figure=svg[svg.index("<svg") :], rows=rows),
        encoding="utf-8",
    )
    return page


def draw(standings: list[Standing]) -> Figure:
    """Return the figure: per rule, what it still learns and what it lets in.

    >>> len(draw([Standing("fedavg", 1.0, 1.0)]).axes)
    1
    """
    ordered = _ordered(standings)[::-1]
    figure = Figure(figsize=(8, 0.42 * len(ordered) + 1.6), layout="constrained")
    axes = figure.add_subplot()
    places = range(len(ordered))
    axes.barh(
        [p + 0.2 for p in places], [s.learned for s in ordered], 0.38, color=LEARNED, label="still learns"
    )
    axes.barh(
        [p - 0.2 for p in places], [s.let_in for s in ordered], 0.38, color=LET_IN, label="backdoor let in"
    )
    axes.set_yticks(places, [s.rule for s in ordered])
    axes.axvline(1, color="grey", linewidth=0.8, linestyle=":")
    axes.axvline(0, color="grey", linewidth=0.8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of what plain averaging learns and lets in")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.margins(y=0.02)
    figure.legend(loc="outside upper left", ncols=2, frameon=False)
    return figure


def _ordered(standings: list[Standing]) -> list[Standing]:
    return sorted(standings, key=lambda standing: standing.let_in)
