"""The demo's page on the site: drawn anew for each build, from what `holdfast demo` measured once."""

import json
import sys
from pathlib import Path

from holdfast.comparing.concluded import guess_rate
from holdfast.paper.demo import DEFENCES, demo_codes, demo_experiments
from holdfast.paper.experiment import document
from holdfast.report.demo import conclude_demo, demo_rows
from holdfast.report.pages import demo_page

#: What is kept of it in docs, and where the page is on the site.
KEPT, ADDRESS = "demo.json", "demo.html"


def page(docs: Path) -> str:
    """Return the page."""
    kept = json.loads((docs / KEPT).read_text(encoding="utf-8"))
    return demo_page(kept["found"], verdicts=kept["verdicts"], defences=DEFENCES, seed=0)


def keep(folder: Path, docs: Path) -> None:
    """Keep in docs what `holdfast demo --out FOLDER` measured."""
    experiments = demo_experiments()
    measured = document(experiments, folder / "results", scale="cpu")
    guessing = [guess_rate(one.cells[0].runs[0].task) for one in experiments]
    judged = [
        demo_rows(one, guessing=rate) for one, rate in zip(measured["experiments"], guessing, strict=True)
    ]
    conclusion = conclude_demo(measured, guessing=guessing, codes=demo_codes(experiments[-1]))
    kept = {
        "found": {**measured, "conclusion": conclusion.as_dict()},
        "verdicts": [{row: own.word for row, own in one.items()} for one in judged],
    }
    (docs / KEPT).write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    keep(Path(sys.argv[1]), Path(__file__).parents[1])
