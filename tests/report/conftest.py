"""A small document, and a real browser to open pages in."""

import shutil

import pytest

from holdfast.report.pages import results_page

from .documents import small_document

HOSTILE = "</script><script>window.harmed = true</script><img src=x onerror='window.harmed = true'>"


@pytest.fixture
def measured():
    """What three defences came to under attack, five rounds, two seeds; a fourth was never run."""
    return small_document()


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
    """A function that opens the page of a document, or one given; nobody may complain, or ask a network."""
    contexts, complaints = [], []

    def open_page(document=measured, *, html=None, **settings):
        path = tmp_path / "report.html"
        path.write_text(html or results_page(document), encoding="utf-8")
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
