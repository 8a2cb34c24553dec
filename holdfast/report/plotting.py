"""Figures without global state: create, draw on, save. The same figure is always the same file."""

import io
from functools import partial
from pathlib import Path
from typing import Any

from .._support.atomic import write_whole
from ..errors import InputError
from .installed import check_installed

__all__ = [
    "AGGREGATE",
    "BENIGN",
    "MALICIOUS",
    "MUTED",
    "arrow",
    "check_kind",
    "file_content",
    "label",
    "new_figure",
    "save",
    "with_grid",
    "without_frame",
]

BENIGN, MALICIOUS, AGGREGATE, MUTED = "#2563a8", "#c0392b", "#2d2d2d", "#8a8f98"

#: The kinds of files that a figure can be, and what keeps time and versions out of them.
KINDS: dict[str, dict[str, Any]] = {
    "png": {"metadata": {"Software": None}, "pil_kwargs": {"optimize": True}},
    "svg": {"metadata": {"Date": None, "Creator": None}},
    "pdf": {"metadata": {"CreationDate": None, "Creator": None, "Producer": None}},
}


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size, in inches; a notebook shows it, whatever its backend is."""
    check_installed("matplotlib")
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(width, height), layout="constrained")
    figure._repr_png_ = partial(file_content, figure, "png")  # outside pyplot nobody else draws it
    return figure


def check_kind(kind: str) -> None:
    """Raise an InputError if figures cannot be files of this kind."""
    if kind not in KINDS:
        raise InputError(f"a figure must be one of {', '.join(KINDS)}; got {kind!r}")


def file_content(figure: Any, kind: str) -> bytes:
    """Return the figure as the content of a file of this kind."""
    import matplotlib as mpl

    file = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "holdfast"}):
        figure.savefig(file, format=kind, dpi=110, **KINDS[kind])
    return file.getvalue()


def save(figure: Any, path: Path) -> Path:
    """Write the figure, as the kind of file that its name says, and return where."""
    kind = path.suffix.removeprefix(".")
    check_kind(kind)
    write_whole(path, file_content(figure, kind))
    return path


def arrow(axes: Any, start: Any, step: Any, color: str, *, dashed: bool = False) -> None:
    """Draw a vector."""
    axes.annotate(
        "",
        xy=(start[0] + step[0], start[1] + step[1]),
        xytext=tuple(start),
        arrowprops={
            "arrowstyle": "-|>,head_width=0.25,head_length=0.5",
            "color": color,
            "lw": 2,
            "ls": (0, (3, 2)) if dashed else "-",
            "shrinkA": 0,
            "shrinkB": 0,
        },
    )


def label(
    axes: Any, place: Any, text: str, color: str, *, side: str = "center", by: tuple[float, float] = (0, 0)
) -> None:
    """Write a text on a white ground, moved `by` this much, so that no line crosses it."""
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
    x, y = place[0] + by[0], place[1] + by[1]
    axes.text(x, y, text, color=color, ha=side, va="center", fontsize=9, bbox=ground, zorder=4)


def with_grid(axes: Any) -> None:
    """Draw light horizontal lines behind everything, and no frame."""
    axes.grid(axis="y", color="#e4e6ea", lw=0.8)
    axes.set_axisbelow(True)
    without_frame(axes)


def without_frame(axes: Any, *more: str) -> None:
    """Take the frame away at the top, the right and the sides named."""
    axes.spines[["top", "right", *more]].set_visible(False)
