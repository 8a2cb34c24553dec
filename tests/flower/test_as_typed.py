"""Flower's pages as typed: from an empty folder, a clean FLWR_HOME and no network, with Flower's defaults.

Flower makes an environment for every run and installs the app's dependencies into it. Nothing here keeps it
from doing so; uv, which it uses for that, is told to stay offline: whatever needed a download would fail.
"""

import re
import shlex
import shutil
import subprocess

import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")
pytest.importorskip("ray", reason="Flower simulates with Ray: pip install '.[flower,ray]'")
pytest.importorskip("torch", reason="the example app needs torch: pip install '.[sim]'")

from ..pages import blocks, commands, files
from .federation import APP, ROOT, RUN_LIMIT, federation, free_ports, needs_engines

DOCS = ROOT / "docs" / "flower.md"
SECTION = "A defended app, from an empty folder"

pytestmark = [
    pytest.mark.engines,
    needs_engines,
    pytest.mark.skipif(not (DOCS.exists() and APP.exists()), reason="no docs and examples beside the tests"),
]


@pytest.fixture
def here(tmp_path):
    """Return a machine that has never seen Flower, and on which nobody has set anything."""
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

        yield here
        runtime = here.home / "runtime-envs"
        assert runtime.is_dir(), "Flower installed no dependencies: this test no longer tests what it says"


@pytest.fixture
def typed(here):
    """Return what types a command in a folder, and gives what it says."""

    def type_(words, folder):
        for _ in range(5):  # Flower gives its own SuperLink 15 seconds to start, on a busy machine too few
            name = f"typed{len(here.started)}"
            here.start(name, "bash", "-c", f"cd {shlex.quote(str(folder))} && {shlex.join(words)}")
            here.wait(lambda: here.started[name].poll() is not None, f"{words} to end", RUN_LIMIT)  # noqa: B023
            if "Failed to start local SuperLink within" not in here.log(name):
                break
        return here.ended(name, RUN_LIMIT)

    return type_


@pytest.fixture
def first_app(tmp_path):
    """Return a folder with the files that the page gives for an empty one, and no others."""
    folder = tmp_path / "empty"
    folder.mkdir()
    for name, text in files(DOCS, section=SECTION).items():
        (folder / name).write_text(text)
    assert sorted(path.name for path in folder.iterdir()) == [
        "client_app.py",
        "pyproject.toml",
        "server_app.py",
    ]
    return folder


def test_the_page_leads_from_an_empty_folder_to_a_defended_model(first_app, typed):
    (command,) = commands(DOCS, section=SECTION)
    said = typed(command, first_app)
    assert "krum_trimmed_mean: 10 clients aggregated" in said
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


@pytest.mark.skipif(
    not all(map(shutil.which, ("openssl", "ssh-keygen"))), reason="needs openssl and ssh-keygen"
)
def test_the_page_leads_to_real_nodes_with_certificates_and_keys(first_app, here, typed):
    """On one machine, with ports that are free, and three nodes in the place of one, as the page allows."""
    server = first_app / "server_app.py"
    strategy = r"Robust\(krum_trimmed_mean\(n_malicious=2\), watch=factions\(\)\)"
    smaller, n_changed = re.subn(strategy, "Robust(median)", server.read_text())
    assert n_changed == 1
    server.write_text(smaller.replace("import factions, krum_trimmed_mean", "import median"))
    made, started, joined = (block.text for block in blocks(DOCS, "bash", section="Deploying"))
    (connection,) = blocks(DOCS, "toml", section="Deploying")

    def at(text, number=0):
        text = text.replace("127.0.0.1:8000", here.address).replace("--port 8000", f"--port {here.port}")
        text = text.replace("--port 9094", f"--port {here.node_ports[number]}").replace(
            "node0", f"node{number}"
        )
        return text.replace("partition-id=0", f"partition-id={number}").replace("\\\n", " ")

    def start(name, command):
        here.start(name, "bash", "-ec", f"cd {first_app} && exec {command}")

    subprocess.run(["bash", "-ec", made], cwd=first_app, check=True, capture_output=True)
    for number in (1, 2):
        subprocess.run(["bash", "-ec", at(made.splitlines()[-1], number)], cwd=first_app, check=True)
    here.home.mkdir()
    kept = at(connection.text).replace("/where/you/keep/it", str(first_app))
    (here.home / "config.toml").write_text(kept)
    start("superlink", at(started))
    here.wait(here.is_open, "the SuperLink to listen")
    for number in range(3):
        registered, node, run = at(joined, number).strip().splitlines()
        typed(shlex.split(registered), first_app)
        start(f"node{number}", node)
    for number in range(3):
        here.node_id(number)
    said = typed(shlex.split(run), first_app)
    assert "median: 3 clients aggregated" in said
    assert "the model: [" in said
