"""The command of an installation without the extra `cli` says what to install."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_what_is_missing_is_said_in_one_line(absent):
    code = f"import sys; sys.modules[{absent!r}] = None; from holdfast.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == f"The holdfast command needs {absent}; in a checkout: pip install '.[cli]'\n"
