"""The examples run as they stand."""

import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app
from holdfast.lab.data.store import get

from .lab.data.folder import FASHION

EXAMPLES = Path(__file__).parent.parent / "examples"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not EXAMPLES.exists(), reason="no examples beside the tests"),
]


def test_a_task_of_ones_own_takes_about_twenty_lines_and_shows_an_attack_stopped(capsys):
    path = EXAMPLES / "own_task.py"
    code = path.read_text().split("def rings")[1].split("if __name__")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 25
    runpy.run_path(str(path), run_name="__main__")
    averaged, own = capsys.readouterr().out.splitlines()
    assert averaged.startswith("fedavg: accuracy 0.")
    assert averaged.endswith("attack success 1.00")
    assert own.startswith("middle: accuracy 0.9")
    assert own.endswith("attack success 0.00")


def test_a_pytorch_loop_learns_beside_liars_and_a_loud_client(capsys):
    runpy.run_path(str(EXAMPLES / "torch_loop.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "10 clients aggregated" in out
    assert float(out.split("accuracy ")[1]) > 0.95


def test_jax_pytrees_learn_beside_a_liar_and_a_tree_of_another_form(capsys):
    pytest.importorskip("jax", reason="JAX is not installed")
    runpy.run_path(str(EXAMPLES / "jax_pytree.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "9 clients aggregated, 1 dropped" in out
    assert float(out.split("accuracy ")[1]) > 0.95


def test_nvflares_simulator_runs_a_rule_against_a_malicious_site(tmp_path):
    """NVFlare pins too much to share an environment: `make test-nvflare` makes one and says where it is."""
    python = os.environ.get("HOLDFAST_NVFLARE_PYTHON")
    if not python:
        pytest.skip("HOLDFAST_NVFLARE_PYTHON names no Python with NVFlare: make test-nvflare")
    script = [python, str(EXAMPLES / "nvflare_job.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(script, capture_output=True, text=True, timeout=500, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "the model after three rounds: ['0.9', '0.9', '0.9', '0.9']" in done.stdout


@pytest.fixture
def making():
    """Return what makes notebooks, by name."""
    return runpy.run_path(str(EXAMPLES.parent / "docs" / "notebook.py"))


@pytest.fixture
def notebook_of(making):
    return making["notebook_of"]


def test_cells_of_a_script_become_cells_of_a_notebook(notebook_of):
    made = json.loads(
        notebook_of("# %% [markdown]\n# # A sum\n#\n# Of two.\n\n# %%\nx = 1\n\nprint(x + 1)\n")
    )
    text, code = made["cells"]
    assert (text["cell_type"], text["source"]) == ("markdown", ["# A sum\n", "\n", "Of two."])
    assert (code["cell_type"], code["source"]) == ("code", ["x = 1\n", "\n", "print(x + 1)"])
    with pytest.raises(ValueError, match="must begin with a cell"):
        notebook_of("import this\n# %%\n")


def test_the_notebook_of_the_tutorial_is_made_of_its_script(notebook_of):
    made = notebook_of((EXAMPLES / "tutorial.py").read_text())
    assert (EXAMPLES / "tutorial.ipynb").read_text() == made, "make fill"


def sources_of(cells):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def printed_in(cells):
    """Return what the cells of a notebook print, digits apart, which are others on another machine."""
    from making.tutorials import shape_of

    outputs = [one for cell in cells for one in cell.get("outputs", ())]
    return [shape_of("".join(one["text"])) for one in outputs if one["output_type"] == "stream"]


def test_the_notebook_on_the_paper_has_the_cells_of_its_script_and_prints_what_it_shows(making, tmp_path):
    for package in ("nbclient", "nbformat", "matplotlib", "torch"):
        pytest.importorskip(package)
    made = making["notebook_of"]((EXAMPLES / "paper.py").read_text())
    stored = json.loads((EXAMPLES / "paper.ipynb").read_text())["cells"]
    assert sources_of(stored) == sources_of(json.loads(made)["cells"]), "make fill"
    cells = json.loads(making["executed"](made, tmp_path))["cells"]
    assert printed_in(cells) == printed_in(stored)
    assert "the same as holdfast's invariant: True\n" in printed_in(cells)
    drawn = [one["data"] for cell in cells for one in cell.get("outputs", ()) if "data" in one]
    assert [data for data in drawn if "image/png" in data]
    assert not [one for cell in cells for one in cell.get("outputs", ()) if one.get("name") == "stderr"]


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """Execute the notebook in a kernel, beside a copy of its module; return its folder and its cells."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    folder = tmp_path_factory.mktemp("tutorial")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOLDFAST_DATA", str(folder / "data"))
        get("fashion-mnist", source="debian")
        shutil.copy(EXAMPLES / "fashion.py", folder)
        notebook = nbformat.read(EXAMPLES / "tutorial.ipynb", as_version=4)
        where = {"metadata": {"path": str(folder)}}
        nbclient.NotebookClient(notebook, timeout=600, resources=where).execute()
        patch.chdir(folder)
        yield folder, {cell.source: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}


def outputs_of(cells, part):
    (outputs,) = [outputs for source, outputs in cells.items() if part in source]
    return outputs


@FASHION
def test_the_tutorial_runs_in_a_notebook_with_tables_figures_and_little_else(tutorial):
    folder, cells = tutorial
    for part in ("display(comparison)", "display(whispered)"):
        progress, table = outputs_of(cells, part)
        # one line that changes, and says in the end that all is done
        assert list(progress.data) == ["text/plain"]
        assert re.fullmatch(r"(\d+) of \1 rounds, (\d+) of \2 runs done", progress.data["text/plain"])
        assert "<table" in table.data["text/html"]
        assert "nearest_half" in table.data["text/html"]
    for part in ("comparison.figure()", "probed.figure()", "whispered.figure()", "plt.subplots"):
        assert "image/png" in outputs_of(cells, part)[-1].data
    assert "nearest_half() passes" in outputs_of(cells, "check(")[0].data["text/html"]
    assert "trousers, lying down: 9" in outputs_of(cells, "plt.subplots")[0].text
    assert "<table" in outputs_of(cells, "probe(")[-1].data["text/html"]
    assert not [one for outputs in cells.values() for one in outputs if one.get("name") == "stderr"]
    assert "nearest_half" in (folder / "tutorial" / "sideways.html").read_text()


@FASHION
def test_the_tutorial_tells_the_truth_and_its_commands_work_on_what_is_stored(tutorial):
    folder, _ = tutorial
    stored = sorted((folder / "tutorial" / "runs").iterdir())
    lines = re.findall(r"^# holdfast (.*fashion\.py.*)$", (EXAMPLES / "tutorial.py").read_text(), re.M)
    assert [line.split()[0] for line in lines] == ["list", "check", "probe", "compare", "run"]
    for line in lines:
        done = CliRunner().invoke(app, shlex.split(line))
        assert done.exit_code == 0, done.output
        assert "nearest_half" in done.output
    assert list((folder / "logs").rglob("events.out.tfevents.*"))
    success = {}
    for attack in ("sideways", "whispered"):
        command = f"compare fashion.py --attack {attack} --defences fedavg,nearest_half,factions+fedavg"
        shown = CliRunner().invoke(app, [*command.split(), "--out", "tutorial", "--json"])
        for one in json.loads(shown.stdout)["standings"]:
            success[attack, one["defence"]] = one["attack_success"]["mean"]
    assert success["sideways", "fedavg"] > 0.8
    assert success["sideways", "nearest_half"] < 0.1
    assert success["sideways", "factions+fedavg"] < 0.1
    assert success["whispered", "fedavg"] < 0.3 < 0.5 < success["whispered", "nearest_half"]
    assert success["whispered", "factions+fedavg"] < 0.1
    assert sorted((folder / "tutorial" / "runs").iterdir()) == stored
