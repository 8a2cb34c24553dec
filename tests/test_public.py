"""What a user sees after `import holdfast`."""

import inspect
import subprocess
import sys

import pytest

import holdfast


def test_everything_public_is_there_and_documented():
    for name in holdfast.__all__:
        value = getattr(holdfast, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert ">>> " in (inspect.getdoc(value) or ""), f"{name} has no example"
    assert dir(holdfast) == sorted(holdfast.__all__)


def test_what_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'invariante'"):
        holdfast.invariante  # noqa: B018


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_there_are_about_thirty_public_names():
    assert len(holdfast.__all__) <= 30


def test_importing_holdfast_loads_nothing_heavy():
    heavy = "{'numba', 'torch', 'flwr', 'matplotlib', 'typer', 'rich'}"
    assert run(f"import sys, holdfast; print({heavy} & set(sys.modules))") == "set()"
    assert (
        run(f"import sys; from holdfast import defend, invariant; print({heavy} & set(sys.modules))")
        == "set()"
    )
