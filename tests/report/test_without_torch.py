"""Reading stored results and rendering them needs no torch."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from .documents import small_document

ROOT = Path(__file__).parents[2]

#: Importing torch fails from the first line on.
BEGIN = """
import json
import sys
sys.modules["torch"] = None

from pathlib import Path
from holdfast.report.figures import draw_curves, draw_figures
from holdfast.report.pages import results_page
from holdfast.report.tables import document_text
"""

LOAD = """
document = json.loads(Path(sys.argv[1], "document.json").read_text())
"""

READ = """
from holdfast.paper.evidence import evidence

document = evidence(["table8", "figure6", "figure5"], Path("results"))
assert document["runs"], "nothing of the stored results was read"
assert document["experiments"][-1]["name"] == "figure5", "the stored study was not read"
assert draw_figures(document, Path(sys.argv[1]))
"""

RENDER = """
Path(sys.argv[1], "page.html").write_text(results_page(document), encoding="utf-8")
Path(sys.argv[1], "page.md").write_text(document_text(document, "markdown"), encoding="utf-8")
assert draw_curves(document, Path(sys.argv[1]))
"""


def titles_of_the_page(folder, script):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install '.[report]')")
    command = [sys.executable, "-c", BEGIN + script + RENDER, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return re.findall(r'<h2 id="title-\d+">(.*?)</h2>', (folder / "page.html").read_text(encoding="utf-8"))


def test_a_stored_document_is_rendered_without_torch(tmp_path):
    (tmp_path / "document.json").write_text(json.dumps(small_document()))
    assert titles_of_the_page(tmp_path, LOAD) == ["A small table: three defences"]


@pytest.mark.slow
def test_stored_results_are_read_and_rendered_without_torch(tmp_path):
    titles = titles_of_the_page(tmp_path, READ)
    assert titles[0] == "Table 8: share of malicious clients"
    assert len(titles) == 5
