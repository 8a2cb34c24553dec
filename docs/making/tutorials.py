"""Pages of scripts in cells: their text, their code, and what it printed and drew when it ran.

A cell is Python, or of the kind in brackets behind its mark: `[markdown]` is text, `[bash]` are commands, and
`[file] NAME` is a file beside the script that the reader is shown, and that commands find under its own name.
`[page] NAME` is a page that the cells before have written: it is kept, and stands in a frame. All of them run
in one empty folder.
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

#: What begins a cell, and what stands before each line of one that is no code.
CELL, TEXT = re.compile(r"^# %%(?: \[(\w+)\])?(.*)\n", re.M), re.compile(r"^# ?", re.M)
#: A cell of nothing but checks is run, and not shown.
CHECK = re.compile(r"(assert .*\n?)+")


class Cell(NamedTuple):
    """A cell of a script: its kind, its source, and the file that it names."""

    kind: str
    source: str
    name: str = ""


class Ran(NamedTuple):
    """A page, and the files that stand on it by name."""

    page: str
    kept: dict[str, bytes]


def cells_of(script: str) -> list[Cell]:
    """Return the cells of a script.

    >>> cells_of("# %% [markdown]\\n# # A sum\\n\\n# %%\\nprint(1 + 1)\\n\\n# %% [bash]\\n# ls\\n")[::2]
    [Cell(kind='markdown', source='# A sum', name=''), Cell(kind='bash', source='ls', name='')]
    """
    _, *parts = CELL.split(script)
    found = zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    return [
        Cell(kind or "python", TEXT.sub("", text.strip("\n")) if kind else text.strip("\n"), name.strip())
        for kind, name, text in found
    ]


def shown(cell: Cell, folder: Path) -> str:
    """Return a cell as its page has it, without what comes of it; nothing of checks, and of pages."""
    if cell.kind == "markdown":
        return f"{cell.source}\n"
    if cell.kind == "file":
        return f"`{Path(cell.name).name}`:\n\n{fenced('python', (folder / cell.name).read_text())}"
    if cell.kind == "page" or CHECK.fullmatch(cell.source + "\n"):
        return ""
    return fenced(cell.kind, cell.source)


def fenced(language: str, text: str) -> str:
    """Return a block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def run(path: Path) -> Ran:
    """Run a script, and return it as a page with all that it printed and drew."""
    path = path.resolve()
    parts: list[str] = []
    kept: dict[str, bytes] = {}
    with _module(path.stem) as scope, tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        for cell in cells_of(path.read_text(encoding="utf-8")):
            parts.append(shown(cell, path.parent))
            if cell.kind == "file":
                shutil.copy(path.parent / cell.name, work)
            elif cell.kind == "page":
                kept[f"{path.stem}.page.html"] = Path(cell.name).read_bytes()
                parts.append(
                    f'<iframe class="shown" src="{path.stem}.page.html" title="{cell.source}"></iframe>\n'
                )
            elif cell.kind == "bash":
                parts.append(fenced("text", _typed(cell.source)))
            elif cell.kind == "python":
                printed, drawn = _execute(cell.source, path, scope)
                parts.append(fenced("text", printed) if printed else "")
                for picture in drawn:
                    name = f"{path.stem}-{len(kept) + 1}.png"
                    kept[name] = picture
                    parts.append(f"![What the code above draws]({name})\n")
    parts.append(f"<small>Made of [{path.name}]({path.name}), which ran as shown.</small>\n")
    return Ran("\n".join(filter(None, parts)), kept)


@contextlib.contextmanager
def _module(name: str) -> Iterator[dict[str, Any]]:
    """Give the names of a module, which is there while the cells run: classes and functions look it up."""
    module = type(sys)(f"tutorial_{name}")
    sys.modules[module.__name__] = module
    try:
        yield module.__dict__
    finally:
        del sys.modules[module.__name__]


def _typed(commands: str) -> str:
    """Run commands with the packages of this Python, and return what they print; raise if one fails."""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    root = Path(__file__).parents[2]
    quiet = {"FLWR_TELEMETRY_ENABLED": "0", "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}
    quiet["RAY_worker_niceness"] = "0"  # Ray's own 15 starves its workers on a busy machine
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", commands],
        env={**os.environ, **quiet, "PATH": tools, "PYTHONPATH": str(root), "COLUMNS": "100"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{commands}\n{done.stdout}\n{done.stderr}")
    return re.sub(r"[ \t]+$", "", done.stdout, flags=re.M)


def _execute(source: str, path: Path, scope: dict[str, Any]) -> tuple[str, list[bytes]]:
    """Run a cell of Python; return what it printed, and its figures."""
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
    """Return a page without its digits and bars, and with single spaces: other machines print other numbers.

    >>> shape_of("accuracy 0.981,   round 12")
    'accuracy 0.0, round 0'
    >>> shape_of("0.1-0.2  14.9%  ######")
    '0.0-0.0 0.0%'
    """
    without_bars = re.sub(r"(?m)(?<=%)[ #]+$", "", page)
    return re.sub(r"  +", " ", re.sub(r"\d+", "0", without_bars))


def write(path: Path) -> None:
    """Run a script, and write its page and what stands on it beside it."""
    ran = run(path)
    path.with_suffix(".md").write_text(ran.page, encoding="utf-8")
    for name, content in ran.kept.items():
        path.with_name(name).write_bytes(content)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        write(Path(given))
