"""What a command ends with: the verdict, who looks guilty, and what to type next."""

from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from .._support.printable import printable
from ..errors import HoldfastError
from . import options as shared

if TYPE_CHECKING:
    from ..lab.choices import Numbers
    from ..lab.scenario import Run
    from ..report.conclusions import Conclusion
    from ..report.next_steps import Typed

__all__ = ["COLOURS", "show_conclusion", "typed_as"]

COLOURS = {"kept out": "green", "got in": "red", "partly in": "yellow", "not trained": "yellow"}
LONGEST = 2_000


def show_conclusion(conclusion: "Conclusion", console: Console) -> None:
    """Print a conclusion: a headline, the reasons, and a command that can be copied."""
    console.print()
    console.print(Text(conclusion.headline, style=f"bold {COLOURS.get(conclusion.word, '')}".strip()))
    parts = {"Why": conclusion.reason}
    if conclusion.attention:
        parts["Attention"] = conclusion.attention
    parts |= {"Suspects": conclusion.suspects, "Next": conclusion.advice}
    for title, words in parts.items():
        line = Text.assemble((f"{title}: ", "bold"), printable(words, limit=LONGEST))
        console.print(Padding(line, (0, 0, 0, 2)))
    if conclusion.command:
        console.print(f"    {conclusion.command}", markup=False, highlight=False, soft_wrap=True)
    if conclusion.code:
        console.print("  In a server of your own:")
        console.print(f"    {conclusion.code}", markup=False, highlight=False, soft_wrap=True)


def typed_as(
    task: str, run: "Run", *, numbers: "Numbers", settings: list[str] | None, options: dict[str, Any]
) -> "Typed":
    """Return how a training was asked for: the settings as typed, and other options by name."""
    from ..lab.attack_parts import BACKDOORS
    from ..lab.tasks import base_name
    from ..report.next_steps import Typed

    counts = {
        "clients": numbers.n_clients,
        "per-round": numbers.n_per_round,
        "malicious": numbers.n_malicious or None,  # an attack by nobody is called none
    }
    given = {name: value for name, value in {**counts, **options}.items() if value is not None}
    words = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    fitting = [pair for pair in settings or () if _fits(task, run.attack.name, pair)]
    own = [pair for pair in settings or () if pair not in fitting]
    return Typed(
        task,
        run.attack.name,
        (*words, *_as_set(fitting)),
        own=_as_set(own),
        rounds=run.task.n_rounds,
        typed_rounds=numbers.n_rounds is not None,
        counts=(run.task.n_clients, run.task.n_per_round, run.attack.n_malicious),
        backdoors=tuple(BACKDOORS.get(base_name(run.task.name), ())),
        seed=run.seed,
    )


def _fits(task: str, attack: str, pair: str) -> bool:
    """Return whether a setting is one that a run with the advised defence has, too."""
    from ..lab.choices import build_run
    from ..report.next_steps import BEST

    try:
        build_run(task, attack=attack, defence=BEST, settings=shared.settings([pair]))
    except HoldfastError:
        return False
    return True


def _as_set(pairs: list[str]) -> tuple[str, ...]:
    return tuple(word for pair in pairs for word in ("--set", pair))
