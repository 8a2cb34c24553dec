"""A walk through the pages as a newcomer takes it: what is printed there to be typed works, in a small size.

It follows whatever the pages say. A command that it does not know how to try fails: whoever prints one says
here what it takes. What Flower's pages have to type is in tests/flower/test_as_typed.py.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer.main

pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

from holdfast.cli.commands import app
from holdfast.lab.data.store import entry_named

from .cli.test_run import holdfast
from .files.rounds import some_models, write_round
from .pages import blocks, commands

ROOT = Path(__file__).parent.parent
README, DOCS, EXAMPLES = ROOT / "README.md", ROOT / "docs", ROOT / "examples"
pytestmark = pytest.mark.skipif(
    not all(path.exists() for path in (README, DOCS, EXAMPLES, ROOT / "Makefile")),
    reason="no checkout around the tests",
)

#: What makes a command small, on a task that comes with holdfast and on a file of one's own.
SMALL = {
    "run": (["--scale", "smoke", "--rounds", "2"], ["--rounds", "2"]),
    "compare": (["--scale", "smoke", "--rounds", "2", "--seeds", "2"], ["--rounds", "2", "--seeds", "2"]),
    "probe": (["--scale", "smoke"], []),
    "demo": (["--rounds", "1"], []),
    "reproduce": (["--scale", "smoke", "--dry-run"], []),
    "check": (["--no-time"], ["--no-time"]),
    "monitor": (["--out", "monitor.html"], []),
    "theory": (["--samples", "200"], []),
}


def pages():
    return [README, ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")), *sorted(EXAMPLES.rglob("*.md"))]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work where a reader would: beside the examples, a task of one's own and the files of a round."""
    (tmp_path / "examples").mkdir()
    for path in EXAMPLES.glob("*.py"):
        shutil.copy(path, tmp_path / "examples")
    own = (EXAMPLES / "own_task.py").read_text()
    (tmp_path / "mine.py").write_text(own.replace("middle", "my_rule"))
    base, clients = write_round(tmp_path, *some_models(7))
    base.rename(tmp_path / "global.safetensors")
    assert clients[0].parent == tmp_path / "clients"
    shutil.copytree(tmp_path / "clients", tmp_path / "round7")
    for client in clients:
        (tmp_path / "uploads" / client.stem).mkdir(parents=True)
        shutil.copy(client, tmp_path / "uploads" / client.stem / "model.safetensors")
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("mine", "own_task"):
        sys.modules.pop(name, None)


def typed(words, folder):
    """Do what a command says, as far as a test can, and raise if it does not work."""
    words = ["python" if words[0] == ".venv/bin/python" else words[0], *words[1:]]
    program, *rest = words
    if program == "holdfast":
        type_holdfast(rest, folder)
    elif program == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
        assert {word for word in rest if "=" not in word} <= set(targets)
    elif words[:2] == ["pip", "install"]:
        (asked,) = [word for word in rest[1:] if word.startswith(".")]
        extras = re.fullmatch(r"\.(?:\[([\w,-]+)\])?", asked)[1]
        known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
        assert set((extras or "cli").split(",")) <= known.keys()
    elif program in ("python", "python3") and rest[0].endswith(".py"):
        named = (ROOT / "tests" / "test_examples.py").read_text()  # which runs it
        assert (ROOT / rest[0]).is_file()
        assert Path(rest[0]).name in named
    elif words[:2] == ["python", "-m"] and rest[1].startswith(("tests.fuzz", "benchmarks.")):
        small = ["--cases", "2"] if "--cases" in rest else [] if "--case" in rest else ["--help"]
        subprocess.run(
            [sys.executable, *rest, *small], cwd=ROOT, check=True, capture_output=True, timeout=300
        )
    elif words[:3] == ["python", "-m", "pytest"]:  # a rule that the reader adds
        assert all((ROOT / word).exists() for word in rest[1:] if word.startswith("tests"))
    elif program in ("cd", "flwr"):
        assert program == "flwr" or (ROOT / rest[0]).is_dir() or words == ["cd", "holdfast"]
        assert program == "cd" or rest[0] == "run"  # tests/flower/test_as_typed.py
    elif words[:2] == ["git", "clone"] or words[:3] == ["python", "-m", "venv"] or program in (".", "source"):
        pass  # the reader's own machine
    else:
        raise AssertionError(f"nobody has tried to type: {shlex.join(words)}")


def type_holdfast(words, folder):
    command, *rest = words
    if words[:2] == ["data", "get"]:  # which would take a network
        assert [entry_named(name) for name in rest[1:] if not name.startswith("-")]
        return
    if words == ["--install-completion"]:  # which would write into the settings of a shell
        assert holdfast("--show-completion").exit_code == 0
        return
    if command in ("clients", "rewind"):  # of a federation that is running: tests/cli/test_clients.py
        assert wrong_word(shlex.join(["holdfast", *words])) is None
        return
    if "--ledger" in rest and command == "monitor":
        ledger = rest[rest.index("--ledger") + 1]
        type_holdfast(["run", "phishing", "--attack", "edge-case", "--ledger", ledger], folder)
    for tracker in ("mlflow", "wandb", "tensorboard"):
        places = [place for place, word in enumerate(rest) if word.startswith(tracker)]
        for place in places if find_spec(tracker) is None or tracker == "wandb" else ():
            del rest[place - 1 : place + 1]
    is_own = any(".py" in word for word in rest)
    small = SMALL.get(command, ([], []))[is_own]
    if command == "theory" and rest[:1] != ["check"]:
        small = []
    expanded = [
        path for word in rest for path in (sorted(map(str, folder.glob(word))) if "*" in word else [word])
    ]
    for name in ("mine", "own_task"):
        sys.modules.pop(name, None)  # each is a process of its own
    done = holdfast(command, *expanded, *small)
    if (
        any(word.startswith("cifar10") for word in rest) and not (folder / "data").exists()
    ):  # a newcomer is told what to get first
        assert done.exit_code == 1
        assert "holdfast data get cifar10" in done.output
        return
    assert done.exit_code == 0, (words, done.output)


WALKED = [page for page in (README, DOCS / "guide.md") if page.exists()]

#: Where the commands of a page are typed instead.
ELSEWHERE = {
    "docs/flower.md": "tests/flower/test_as_typed.py",
    "docs/lab.md": "tests/test_lab_docs.py",
    "docs/operate.md": "tests/flower/test_operate_docs.py",
    "docs/tutorials": "tests/docs/test_making.py, which runs them as a whole",
    "examples/flower": "tests/flower/test_as_typed.py",
}
TYPED = [
    page
    for page in pages()
    if commands(page) and not str(page.relative_to(ROOT)).startswith(tuple(ELSEWHERE))
]


@pytest.mark.slow
@pytest.mark.parametrize("page", TYPED, ids=lambda page: page.name)
def test_every_command_of_a_page_works(page, folder):
    for words in commands(page):
        typed(words, folder)


@pytest.mark.slow
@pytest.mark.parametrize("page", WALKED, ids=lambda page: page.name)
def test_every_snippet_of_a_page_runs_after_those_before_and_prints_what_stands_below_it(
    page, folder, capsys
):
    names, found = {}, blocks(page)
    for snippet, below in zip(found, [*found[1:], None], strict=True):
        if snippet.language != "python":
            continue
        exec(compile(snippet.text, page.name, "exec"), names)
        printed = capsys.readouterr().out
        if below is not None and below.language == "text" and not below.above:
            assert printed.rstrip() == below.text.rstrip()
    assert names or page != README


def test_a_command_that_cannot_work_is_noticed(folder):
    for words in (
        ["make", "coffee"],
        ["pip", "install", ".[flowers]"],
        ["cd", "nowhere"],
        ["python", "examples/nothing.py"],
        ["holdfast", "list", "tusks"],
        ["holdfast", "aggregate", "nobody.safetensors", "--base", "global.safetensors", "--out", "next"],
        ["docker", "run", "holdfast"],
    ):
        with pytest.raises(AssertionError):
            typed(words, folder)


def written_commands():
    """Yield every holdfast command that stands on a page, in a block or within a sentence."""
    for page in pages():
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        fenced = re.findall(r"^```(?:bash|text)\n(.*?)^```", text, re.M | re.S)
        lines = [line for block in fenced for line in block.splitlines() if line.startswith("holdfast ")]
        within = re.findall(r"(?<!`)`(holdfast [^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
        for line in [*lines, *within]:
            yield page.relative_to(ROOT), " ".join(line.split())


def wrong_word(line):
    """Return the first word of a command that is no command and no option of it; None if there is none."""
    command, words = typer.main.get_command(app), shlex.split(line, comments=True)[1:]
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        alternatives = words[0].split("|")  # run|compare
        if wrong := [name for name in alternatives if name not in command.commands]:
            return None if not re.fullmatch(r"[a-z|]+", words[0]) else wrong[0]  # COMMAND is any
        command, words = command.commands[alternatives[0]], words[1:]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    known |= {"--help", "-h"}
    return next((word for word in words if word.startswith("--") and word.split("=")[0] not in known), None)


def test_every_command_on_every_page_exists_with_every_option():
    found = [(str(page), line, wrong_word(line)) for page, line in written_commands()]
    assert len(found) > 60
    assert [one for one in found if one[2] is not None] == []


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("holdfast run digits --defence median # and more", None),
        ("holdfast run|compare --watch factions", None),
        ("holdfast COMMAND --help", None),
        ("holdfast data gets cifar10", "gets"),
        ("holdfast run digits --defends median", "--defends"),
    ],
)
def test_a_wrong_word_is_found(line, wrong):
    assert wrong_word(line) == wrong


def test_every_example_is_run_by_a_test():
    told = "".join(
        path.read_text() for path in (ROOT / "tests").rglob("test_*.py") if path.name != "test_walk.py"
    )
    parts = {"nvflare_aggregator.py", "nvflare_client.py", "flower"}  # of nvflare_job.py; and federation.APP
    untold = [path.name for path in EXAMPLES.iterdir() if path.name not in parts and path.name not in told]
    assert [name for name in untold if name != "__pycache__"] == []
