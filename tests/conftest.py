"""Compiles the loops first, so that processes that tests start find them on disk; and opens a browser."""

import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest

from holdfast import kernels
from holdfast.updates import rows_of

from .lab.data.compact import lay_out

# Tests that run in the background of a shell inherit that Ctrl-C is ignored, and hand it on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

if "HOLDFAST_DATA" in os.environ:
    os.environ["HOLDFAST_DATA"] = str(lay_out(Path(os.environ["HOLDFAST_DATA"])))


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items):
    """Keep tests that start engines in one process, and those that open a browser: they starve each other."""
    for item in items:
        for kind in ("engines", "browser"):
            if item.get_closest_marker(kind) and not item.get_closest_marker("xdist_group"):
                item.add_marker(pytest.mark.xdist_group(kind))


@pytest.fixture(scope="session", autouse=True)
def compiled_loops():
    for dtype in (np.float32, np.float64):
        rows = rows_of(np.ones((2, 3), dtype=dtype))
        kernels.trimmed_mean(rows, n_trimmed=0)
        kernels.gram(rows)
        kernels.squared_norms(rows)


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
