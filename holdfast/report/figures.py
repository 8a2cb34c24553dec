"""The figures of a document: drawn into files, or carried inside a page."""

import base64
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from . import study_figures
from .curves import curves, sensitivity
from .plotting import file_content, save

__all__ = ["draw_curves", "draw_figures", "figures_of", "pictures_of"]

Experiment = Mapping[str, Any]

#: What is drawn of an analysis: the name of the figure, the figure, and its caption.
DRAWN: Mapping[str, tuple[str, Callable[[Sequence[Mapping[str, Any]]], Any], str]] = MappingProxyType(
    {
        "landscape": (
            "figure4",
            study_figures.landscape,
            "Loss on honest examples from a clean minimum, down the poisoned loss, by the share of the"
            " edge-case pool that they hold.",
        ),
        "landscape_of_updates": (
            "figure4-updates",
            study_figures.landscape,
            "Loss on honest examples from a clean minimum, along the attackers' mean update, by the share of"
            " the edge-case pool that they hold.",
        ),
        "gradient_histogram": ("figure5", study_figures.histogram, "Entries of an attacker's update."),
        "mimicry": ("mimicry", study_figures.mimicry, "What an attacker gains and loses by looking honest."),
        "separable_minima": (
            "separable-minima",
            study_figures.separation,
            "The malicious model and the hull of five honest ones, after one round from a clean model.",
        ),
    }
)

#: A drawing of more bytes than this is better carried as dots.
LARGE = 400_000


def figures_of(experiment: Experiment, *, scale: str) -> dict[str, tuple[Any, str]]:
    """Return the figures of an experiment by name, each with its caption; a table has none."""
    found = {}
    if experiment["axis"] and any(cell["measured"] for cell in experiment["cells"]):
        caption = (
            f"The invariant aggregator over {experiment['axis']}: mean of the seeds after the last round,"
            f" bars from the lowest to the highest, at scale {scale}."
        )
        found[experiment["name"]] = (sensitivity(experiment, scale=scale), caption)
    for own, analyses in experiment["analyses"].items():
        name, drawn, caption = DRAWN[own]
        task = experiment["studies"]["task"]
        found[name] = (drawn(analyses), f"{caption} Task {task}, scale {scale}.")
    return found


def draw_figures(document: Mapping[str, Any], folder: Path, *, kind: str = "png") -> list[Path]:
    """Draw the figures of all experiments into the folder, and return the files."""
    scale = document["scale"]
    return [
        save(figure, folder / f"{name}.{kind}")
        for one in document["experiments"]
        for name, (figure, _) in figures_of(one, scale=scale).items()
    ]


def draw_curves(document: Mapping[str, Any], folder: Path, *, kind: str = "png") -> list[Path]:
    """Draw accuracy and attack success by round, one file per measured column of a table."""
    finished = {key: run["series"] for key, run in document["runs"].items() if run["finished"]}
    drawn = []
    for one in document["experiments"]:
        for column in one["columns"]:
            lines = {
                cell["row"]: [finished[key] for key in cell["keys"] if key in finished]
                for cell in one["cells"]
                if cell["column"] == column and cell["measured"]
            }
            if lines:
                name = f"{one['name']}-{column}".replace(" ", "-").replace("/", "-")
                figure = curves(lines, title=f"{one['title']} ({column})")
                drawn.append(save(figure, folder / f"{name}.{kind}"))
    return drawn


def pictures_of(experiment: Experiment, *, scale: str) -> list[dict[str, str]]:
    """Return the figures of an experiment as a page carries them: a data address, and the caption.

    As pictures, not even drawings can run a script.
    """
    return [
        {"source": _address(figure), "caption": caption}
        for figure, caption in figures_of(experiment, scale=scale).values()
    ]


def _address(figure: Any) -> str:
    kind, content = "svg+xml", file_content(figure, "svg")
    if len(content) > LARGE:
        kind, content = "png", file_content(figure, "png")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"
