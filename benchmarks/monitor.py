"""How fast the live page opens and follows: a browser, a server process, a ledger of many clients and rounds.

`python -m benchmarks.monitor` measures 1,000 clients over 300 rounds. Needs Chromium and Playwright.
"""

import argparse
import json
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.ledger import made_up_rounds
from holdfast.ledger import open_ledger

COMMAND = [
    sys.executable,
    "-c",
    "from holdfast.cli import main; main()",
    "monitor",
    "--port",
    "0",
    "--ledger",
]
#: All is drawn once the map has all its dots.
DRAWN = "(n) => document.querySelectorAll('.map .client').length >= n && document.querySelector('.strip')"
N_TIMES = 5


@contextmanager
def serving(ledger: Path) -> Iterator[str]:
    """Start the monitor as a user does, and yield its address."""
    with subprocess.Popen([*COMMAND, str(ledger)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1]
        process.send_signal(signal.SIGINT)
        process.communicate()


def opened(browser: Any, url: str, n_clients: int) -> tuple[float, Any]:
    """Return the seconds until a new page has drawn everything, and the page."""
    page = browser.new_page()
    started = time.perf_counter()
    page.goto(url)
    page.wait_for_function(DRAWN, arg=n_clients)
    return time.perf_counter() - started, page


def measured(folder: Path, *, n_clients: int, n_rounds: int) -> dict[str, float]:
    """Return what opening and following the page of such a ledger takes."""
    from playwright.sync_api import sync_playwright

    path, found = folder / "federation.db", {}
    rounds = made_up_rounds(n_clients=n_clients, n_rounds=n_rounds + N_TIMES)
    with open_ledger(path) as ledger, sync_playwright() as playwright, serving(path) as url:
        for entry in islice(rounds, n_rounds):
            ledger.write(entry)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        browser.new_page().close()
        found["open_first_s"], page = opened(browser, url, n_clients)
        found["page_kb"] = len(page.request.get(url).body()) / 1e3
        found["page_packed_kb"] = int(page.request.get(url).headers["content-length"]) / 1e3
        found["open_again_s"] = statistics.median(opened(browser, url, n_clients)[0] for _ in range(N_TIMES))
        answers, drawing = [], []
        for entry in rounds:
            with page.expect_response(lambda one: one.status == 200 and "api/update" in one.url) as told:
                ledger.write(entry)
            timing = told.value.request.timing
            answers.append((int(told.value.headers["content-length"]), timing["responseStart"]))
            started = time.perf_counter()
            page.locator("#status", has_text=f"Round {entry.round}").wait_for()
            drawing.append(time.perf_counter() - started)
        found["update_packed_kb"] = statistics.median(size for size, _ in answers) / 1e3
        found["update_answer_ms"] = statistics.median(took for _, took in answers)
        found["update_drawn_ms"] = 1e3 * statistics.median(drawing)
        started = time.perf_counter()
        page.request.get(f"{url}metrics")
        found["metrics_ms"] = 1e3 * (time.perf_counter() - started)
        browser.close()
    return {name: round(value, 2) for name, value in found.items()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder), n_clients=given.clients, n_rounds=given.rounds), indent=2))
