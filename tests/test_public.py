"""What a user sees after `import holdfast`."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast import aggregators


def test_everything_public_is_there_and_documented():
    for name in holdfast.__all__:
        value = getattr(holdfast, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert ">>> " in (inspect.getdoc(value) or ""), f"{name} has no example"
    assert dir(holdfast) == sorted(holdfast.__all__)


def test_what_is_not_public_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'invariante'"):
        holdfast.invariante  # noqa: B018


def test_a_rule_that_is_not_here_says_where_it_is():
    with pytest.raises(ImportError, match=r"from holdfast\.aggregators import bulyan"):
        from holdfast import bulyan  # noqa: F401


def test_every_rule_that_the_readme_recommends_is_here():
    page = Path(holdfast.__file__).parents[1] / "README.md"
    if not page.exists():
        pytest.skip("no README beside the package")
    section = page.read_text().partition("## Which defence to take")[2].partition("\n## ")[0]
    table = "\n".join(line for line in section.splitlines() if line.startswith("|"))
    named = {name for name in re.findall(r"`(?:watch=)?(\w+)", table) if hasattr(aggregators, name)}
    assert {"flame", "krum_trimmed_mean", "fedavg"} <= named <= {*holdfast.__all__}


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
