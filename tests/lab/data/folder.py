"""The folder of real data, for tests that need it and skip without."""

import os
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("HOLDFAST_DATA", "nowhere"))


def needs(*names):
    missing = [name for name in names if not (FOLDER / name).is_file()]
    return pytest.mark.skipif(bool(missing), reason=f"HOLDFAST_DATA has no {', '.join(missing)}")
