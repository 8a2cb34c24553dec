"""Results of real, small runs as a document, and a real browser to open pages in."""

import shutil

import pytest

from holdfast.report.page import write_page

HOSTILE = "</script><script>window.harmed = true</script><img src=x onerror='window.harmed = true'>"


@pytest.fixture(scope="session")
def measured(tmp_path_factory):
    """What three defences came to under attack, five rounds, two seeds; a fourth was never run."""
    pytest.importorskip("torch", reason="torch is not installed (pip install holdfast[sim])")
    from holdfast.lab.choices import Numbers, build_run
    from holdfast.paper.experiment import Cell, Experiment, Printed, document, runs_folder
    from holdfast.runs.results import run_and_record

    folder = tmp_path_factory.mktemp("results")
    rows = {"FedAvg": "fedavg", "Trimmed mean": "trimmed_mean", "Invariant": "invariant"}
    cells = []
    for row, defence in rows.items():
        runs = tuple(
            build_run(
                "phishing",
                attack="edge-case",
                defence=defence,
                seed=seed,
                settings={"n_train": 600, "n_test": 100},
                numbers=Numbers(n_rounds=5, n_clients=12, n_per_round=6, n_malicious=3),
            )
            for seed in range(2)
        )
        for run in runs:
            for _ in run_and_record(run, runs_folder(folder)):
                pass
        printed = Printed(0.999, 0.875) if row != "Invariant" else None
        named = {"task": "phishing", "attack": "edge-case", "defence": defence}
        cells.append(Cell(row, "phishing", **named, runs=runs, n_wanted=3, printed=printed))
    cells.append(Cell("Median", "phishing", task="phishing", attack="edge-case", defence="median"))
    experiment = Experiment(
        "small", "A small table: three defences", "table", "Made to be tested.", tuple(cells)
    )
    found = document([experiment], folder, scale="smoke")
    verdicts = ("holds", "does not hold", "not measured", "holds")
    found["claims"] = [
        {
            "id": f"claim-{place}",
            "text": "One claim." if place in (0, 3) else "Another claim.",
            "verdict": verdict,
            "numbers": "ASR .95 and .01" if verdict != "not measured" else "",
            "scale": "smoke",
            "task": "phishing",
            "source": "§4",
        }
        for place, verdict in enumerate(verdicts)
    ]
    return found


@pytest.fixture(scope="session")
def chromium():
    """A headless Chromium, Debian's own: Playwright's is never downloaded."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed (dev extra)")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        pytest.skip("no chromium here (apt-get install chromium)")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, measured, tmp_path):
    """A function that writes the page of a document and opens it; nobody may complain, or ask a network."""
    contexts, complaints = [], []

    def open_page(document=measured, **settings):
        path = write_page(document, tmp_path / "report.html")
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:")) or complaints.append(f"request: {request.url}")
            ),
        )
        page.goto(path.as_uri())
        return page

    open_page.complaints = complaints
    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
