"""The demo's page: what was tried, what came out, by round. Self-contained."""

import html
import io
from pathlib import Path

from ..errors import InputError
from ..runs.results import Result
from .comparison import Standing
from .curves import curves
from .demo import DEFENCES, Contest, verdict
from .plotting import save

__all__ = ["write_page"]

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>holdfast: a backdoor planted, and stopped</title>
<style>
  :root {{ color-scheme: light dark; }}
  body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }}
  table {{ border-collapse: collapse; width: 100%; }}
  th, td {{ padding: .3rem .6rem; border-bottom: 1px solid #8884; text-align: left; }}
  .number {{ text-align: right; font-variant-numeric: tabular-nums; }}
  .kept-out {{ color: #2e8b57; font-weight: 600; }} .let-in {{ color: #d0473a; font-weight: 600; }}
  .half-in, .hardly-learns {{ color: #b8860b; font-weight: 600; }}
  figure {{ margin: 1rem 0; background: #fff; border-radius: 6px; }} svg {{ width: 100%; height: auto; }}
</style>
<h1>A backdoor planted, and stopped</h1>
<p>Many clients train one model together without showing each other their data. A fifth of them is malicious:
they train honestly, too, but also on examples of their own that carry a trigger and a wrong label. The model
then answers well, except where the trigger is: there it says what the attackers want. The server sees only
the clients' updates, and which rule it uses to make one of them decides whether the backdoor gets in.</p>
{sections}
<p>Every number is from one training with seed {seed}, just made on this machine. Defences side by side, over
several seeds and with other attacks: <code>holdfast compare digits --attack edge-case --seeds 3</code>.</p>
</html>
"""

SECTION = """<h2>{title}</h2>
<p>{story} {clients} clients, {malicious} of them malicious, {per_round} drawn at random for each of
{rounds} rounds. Without attackers the model answers {honest_accuracy:.1%} of the test rightly, and
{honest_success:.1%} of the inputs with the trigger get the attackers' label by mistake.</p>
<figure>{figure}</figure>
<table>
<tr><th>the server's rule<th>what it does<th class="number">right answers<th class="number">backdoor works
<th>verdict</tr>
{rows}
</table>
"""


def write_page(contests: list[Contest], results: Path, folder: Path, *, seed: int) -> Path:
    """Write report.html, and the figures as PNG, into the folder; return the page's path.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_page([], Path(folder), Path(folder), seed=0).name
    'report.html'
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        sections = "\n".join(_section(contest, results, folder) for contest in contests)
        page = folder / "report.html"
        page.write_text(PAGE.format(sections=sections, seed=seed), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder} must be a folder that can be written to: {error.strerror}") from None
    return page


def _section(contest: Contest, results: Path, folder: Path) -> str:
    honest, attacked = contest.results(results)
    run = contest.runs["fedavg"]
    standings = [Standing(name, (result,), ()) for name, result in attacked.items()]
    figure = curves(standings, title=contest.title)
    save(figure, folder / f"{run.task.name}.png")
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg")
    svg = drawn.getvalue()
    return SECTION.format(
        title=contest.title,
        story=html.escape(contest.story),
        clients=run.task.n_clients,
        malicious=run.attack.n_malicious,
        per_round=run.task.n_per_round,
        rounds=run.task.n_rounds,
        honest_accuracy=honest.last("accuracy"),
        honest_success=honest.last("attack_success"),
        figure=svg[svg.index("<svg") :],
        rows="\n".join(_row(name, result, honest) for name, result in attacked.items()),
    )


def _row(name: str, result: Result, honest: Result) -> str:
    word = verdict(result, honest)
    return (
        f"<tr><td><code>{html.escape(name)}</code><td>{html.escape(DEFENCES.get(name, ''))}"
        f"<td class=number>{result.last('accuracy'):.1%}<td class=number>{result.last('attack_success'):.1%}"
        f'<td class="{word.replace(" ", "-")}">{word}</tr>'
    )
