"""What nobody foresaw is shown as a traceback, and no traceback shows what variables hold."""

import subprocess
import sys

CODE = """
from holdfast.cli.commands import app

@app.command()
def fail():
    token = "wandb-" + "secret"
    raise ZeroDivisionError("unforeseen")

app(["fail"])
"""


def test_a_traceback_shows_no_variables():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True)
    assert done.returncode == 1
    assert "unforeseen" in done.stderr
    assert "wandb-secret" not in done.stdout + done.stderr
