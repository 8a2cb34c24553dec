"""Pages of scripts in cells: their text, their code, and what it printed and drew when it ran."""

import contextlib
import io
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

#: What begins a cell, and what stands before each line of one that is text.
CELL, TEXT = re.compile(r"^# %%(.*)\n", re.M), re.compile(r"^# ?", re.M)
#: A cell of nothing but checks is run, and not shown.
CHECK = re.compile(r"(assert .*\n?)+")


class Cell(NamedTuple):
    """A cell of a script."""

    is_text: bool
    source: str


class Ran(NamedTuple):
    """A page, and the pictures on it by file name."""

    page: str
    pictures: dict[str, bytes]


def cells_of(script: str) -> list[Cell]:
    """Return the cells of a script.

    >>> cells_of("# %% [markdown]\\n# # A sum\\n\\n# %%\\nprint(1 + 1)\\n")
    [Cell(is_text=True, source='# A sum'), Cell(is_text=False, source='print(1 + 1)')]
    """
    _, *parts = CELL.split(script)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [
        Cell(True, TEXT.sub("", text.strip("\n"))) if "[markdown]" in kind else Cell(False, text.strip("\n"))
        for kind, text in pairs
    ]


def run(path: Path) -> Ran:
    """Run a script, and return it as a page with all that it printed and drew."""
    name = path.stem
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    scope: dict[str, Any] = {"__name__": f"tutorial_{name}"}
    sys.modules[scope["__name__"]] = _module(scope)  # classes and functions look their module up
    for cell in cells_of(path.read_text(encoding="utf-8")):
        if cell.is_text:
            parts.append(f"{cell.source}\n")
            continue
        printed, drawn = _execute(cell.source, path, scope)
        if not CHECK.fullmatch(cell.source + "\n"):
            parts.append(f"```python\n{cell.source}\n```\n")
        if printed:
            parts.append(f"```text\n{printed.rstrip()}\n```\n")
        for picture in drawn:
            pictures[f"{name}-{len(pictures) + 1}.png"] = picture
            parts.append(f"![What the code above draws]({name}-{len(pictures)}.png)\n")
    del sys.modules[scope["__name__"]]
    parts.append(f"<small>Made of [{path.name}]({path.name}), which ran as shown.</small>\n")
    return Ran("\n".join(parts), pictures)


def _module(scope: dict[str, Any]) -> Any:
    module = type(sys)(scope["__name__"])
    module.__dict__.update(scope)
    scope.update(module.__dict__)
    return module


def _execute(source: str, path: Path, scope: dict[str, Any]) -> tuple[str, list[bytes]]:
    """Run a cell; return what it printed, and its figures."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), scope)
    drawn = []
    for number in plt.get_fignums():
        picture = io.BytesIO()
        plt.figure(number).savefig(picture, format="png", dpi=160, metadata={"Software": None})
        drawn.append(picture.getvalue())
    plt.close("all")
    return printed.getvalue(), drawn


def shape_of(page: str) -> str:
    """Return a page without its digits: another machine may print another last one.

    >>> shape_of("accuracy 0.981, round 12")
    'accuracy 0.0, round 0'
    """
    return re.sub(r"\d+", "0", page)


def write(path: Path) -> None:
    """Run a script, and write its page and its pictures beside it."""
    ran = run(path)
    path.with_suffix(".md").write_text(ran.page, encoding="utf-8")
    for name, picture in ran.pictures.items():
        path.with_name(name).write_bytes(picture)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        write(Path(given))
