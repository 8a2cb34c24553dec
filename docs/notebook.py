"""Make the notebook of a script in cells: `python docs/notebook.py examples/tutorial.py`, or `make fill`.

`--execute` before the names also runs the notebooks and stores what they print and draw.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

#: What begins a cell of the script, and what stands before each of its lines if it is Markdown.
CELL, MARKDOWN = re.compile(r"^# %%(.*)\n", re.M), re.compile(r"^# ?", re.M)


def notebook_of(script: str) -> str:
    """Return the notebook, without outputs, as JSON."""
    before, *parts = CELL.split(script)
    if before.strip():
        raise ValueError(f"the script must begin with a cell, '# %%'; got {before[:40]!r}")
    pairs = zip(parts[::2], parts[1::2], strict=True)
    cells = [_cell(number, kind.strip(), text.strip("\n")) for number, (kind, text) in enumerate(pairs)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _cell(number: int, kind: str, text: str) -> dict[str, Any]:
    head = {"id": f"cell-{number}", "metadata": {}}
    if kind == "[markdown]":
        source = MARKDOWN.sub("", text).splitlines(keepends=True)
        return {"cell_type": "markdown", **head, "source": source}
    source = text.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, **head, "outputs": [], "source": source}


def executed(notebook: str, folder: Path) -> str:
    """Run a notebook in a folder; return it with its outputs, and nothing that names this machine."""
    import nbclient
    import nbformat

    cells = nbformat.reads(notebook, as_version=4)
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(cells, timeout=600, resources=place, record_timing=False).execute()
    cells.metadata.pop("language_info")
    return nbformat.writes(cells) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        if name != "--execute":
            path = Path(name)
            notebook = notebook_of(path.read_text())
            if "--execute" in sys.argv:
                notebook = executed(notebook, path.parent)
            path.with_suffix(".ipynb").write_text(notebook)
