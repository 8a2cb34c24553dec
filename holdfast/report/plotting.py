"""Figures without global state: made, drawn on, saved. matplotlib comes with the extra `report`."""

from pathlib import Path
from typing import Any

from ..errors import InputError

__all__ = [
    "AGGREGATE",
    "BENIGN",
    "MALICIOUS",
    "MUTED",
    "arrow",
    "label",
    "new_figure",
    "save",
    "without_frame",
]

BENIGN, MALICIOUS, AGGREGATE, MUTED = "#2563a8", "#c0392b", "#2d2d2d", "#8a8f98"


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure of this size, in inches.

    >>> print(new_figure(4, 3).get_figwidth())
    4.0
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("figures need matplotlib: install holdfast[report]") from None
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> Path:
    """Write the figure and return where; the file's name says the format.

    >>> import tempfile
    >>> save(new_figure(1, 1), Path(tempfile.mkdtemp()) / "empty.png").stat().st_size > 0
    True
    """
    known = figure.canvas.get_supported_filetypes()
    if path.suffix.removeprefix(".") not in known:
        raise InputError(
            f"a figure's file must end in one of .{', .'.join(sorted(known))}; got {path.name!r}"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    # No version in it: the same figure is the same file.
    png: dict[str, Any] = {"metadata": {"Software": None}, "pil_kwargs": {"optimize": True}}
    figure.savefig(path, dpi=110, **(png if path.suffix == ".png" else {}))
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
    """Write a text, moved `by` so much, on a white ground, so that the lines under it do not cross it."""
    ground = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
    x, y = place[0] + by[0], place[1] + by[1]
    axes.text(x, y, text, color=color, ha=side, va="center", fontsize=9, bbox=ground, zorder=4)


def without_frame(axes: Any, *more: str) -> None:
    """Take the frame away at the top, the right and the sides named."""
    axes.spines[["top", "right", *more]].set_visible(False)
