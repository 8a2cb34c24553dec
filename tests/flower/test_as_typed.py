"""Flower's pages as typed: from an empty folder, a clean FLWR_HOME and no network, with Flower's defaults.

Flower makes an environment for every run and installs the app's dependencies into it. Nothing here keeps it
from doing so; uv, which it uses for that, is told to stay offline: whatever needed a download would fail.
"""

import re
import shlex
import shutil

import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install 'holdfast-fl[flower]'")
pytest.importorskip("ray", reason="Flower simulates with Ray: pip install 'holdfast-fl[flower,ray]'")
pytest.importorskip("torch", reason="the example app needs torch: pip install 'holdfast-fl[sim]'")

from ..pages import commands, files
from .federation import APP, ROOT, RUN_LIMIT, federation, free_ports, needs_engines

DOCS = ROOT / "docs" / "flower.md"
SECTION = "A defended app, from an empty folder"

pytestmark = [
    pytest.mark.engines,
    needs_engines,
    pytest.mark.skipif(not (DOCS.exists() and APP.exists()), reason="no docs and examples beside the tests"),
]


@pytest.fixture
def typed(tmp_path):
    """Return what types a command in a folder, on a machine that has never seen Flower."""
    with federation(tmp_path) as here:
        shutil.rmtree(here.home)  # FLWR_HOME is not even there
        control, api = free_ports(2)
        for name in ("FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION", "PYTHONPATH"):
            del here.environment[name]
        here.environment |= {
            "UV_OFFLINE": "1",
            "FLWR_LOCAL_SUPERLINK_HTTP_API_PORT": str(api),
            "FLWR_LOCAL_CONTROL_API_PORT": str(control),
        }

        def type_(words, folder):
            for _ in range(
                5
            ):  # Flower gives its own SuperLink 15 seconds to start, on a busy machine too few
                name = f"typed{len(here.started)}"
                here.start(name, "bash", "-c", f"cd {shlex.quote(str(folder))} && {shlex.join(words)}")
                here.wait(lambda: here.started[name].poll() is not None, f"{words} to end", RUN_LIMIT)  # noqa: B023
                if "Failed to start local SuperLink within" not in here.log(name):
                    break
            return here.ended(name, RUN_LIMIT)

        yield type_
        runtime = here.home / "runtime-envs"
        assert runtime.is_dir(), "Flower installed no dependencies: this test no longer tests what it says"


def test_the_page_leads_from_an_empty_folder_to_a_defended_model(tmp_path, typed):
    folder = tmp_path / "empty"
    folder.mkdir()
    for name, text in files(DOCS, section=SECTION).items():
        (folder / name).write_text(text)
    assert sorted(path.name for path in folder.iterdir()) == [
        "client_app.py",
        "pyproject.toml",
        "server_app.py",
    ]
    (command,) = commands(DOCS, section=SECTION)
    said = typed(command, folder)
    assert "invariant: 10 clients aggregated" in said
    model = re.search(r"^the model: \[(.*)\] the truth: \[(.*)\]$", said, re.M)
    found, true = (list(map(float, numbers.split())) for numbers in model.groups())
    assert found == pytest.approx(true, abs=0.1)
    liars = re.findall(r"^ +\d+ .* 100\.0%$", said, re.M)
    assert len(liars) == 2


def test_every_command_of_the_example_runs_and_says_whether_the_backdoor_got_in(tmp_path, typed):
    folder = shutil.copytree(APP, tmp_path / "drill")
    installed, entered, *runs = commands(APP / "README.md")
    assert installed == ["pip", "install", ".[flower,ray,sim]"]
    assert entered == ["cd", "examples/flower"]
    printed = re.search(r"```text\n(.*?)\n```", (APP / "README.md").read_text())[1]
    verdicts = []
    for words in runs:
        assert words[:3] == ["flwr", "run", "."]
        said = typed(words, folder)
        verdicts.append(re.search(r"^The backdoor .*$", said, re.M)[0])
    defended, averaged, watched = verdicts
    assert defended == printed
    assert averaged.startswith("The backdoor GOT IN")
    assert watched.startswith("The backdoor was kept out")
