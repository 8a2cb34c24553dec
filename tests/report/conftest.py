"""A small document, and a real browser to open pages in."""

import pytest

from holdfast.report.pages import results_page

from .documents import small_document

HOSTILE = "</script><script>window.harmed = true</script><img src=x onerror='window.harmed = true'>"


@pytest.fixture
def measured():
    """What three defences came to under attack, five rounds, two seeds; a fourth was never run."""
    return small_document()


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
