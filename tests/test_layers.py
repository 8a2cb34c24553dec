"""The one line of law: a module imports only from rooms to its left, and heavy packages only at home."""

import ast
from pathlib import Path

import pytest

import holdfast

LAW = (
    "errors < _support < core < updates < kernels < aggregators < watching"
    " < defending < ledger < theory, files, lab < flower, runs < paper < report < comparing < cli"
)
#: Where a package may be imported. Whoever does not use these rooms needs none of them.
HOMES = {
    "numba": {"kernels"},
    "llvmlite": {"kernels"},
    "torch": {"lab"},
    "safetensors": {"lab"},
    "PIL": {"lab"},
    "platformdirs": {"lab"},
    "flwr": {"flower"},
    "ray": {"_support", "files", "runs"},
    "tensorboard": {"runs"},
    "mlflow": {"runs"},
    "wandb": {"runs"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
    "prometheus_client": {"report"},
    "typer": {"cli"},
    "rich": {"cli"},
}
ROOT = Path(holdfast.__file__).parent
LAYER_OF = {room.strip(): depth for depth, rooms in enumerate(LAW.split("<")) for room in rooms.split(",")}
#: Modules that hand out names from everywhere, each imported when it is first asked for.
DOORS = {ROOT / "__init__.py", ROOT / "lab" / "__init__.py"}
FILES = sorted(path for path in ROOT.rglob("*.py") if path not in DOORS)


def imports(path, root=ROOT):
    """Yield (absolute module, name or None) for every import of a file, wherever it stands in it."""
    package = ["holdfast", *path.relative_to(root).parent.parts]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((module, alias.name) for alias in node.names)


def room_of(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def entered(module, name):
    """Return the room of holdfast that an import enters; None if it is none, or the front door."""
    parts = [*module.split("."), name]
    if parts[0] != "holdfast" or (len(parts) == 2 and name in {None, *holdfast.__all__}):
        return None
    return parts[1]


def test_every_module_has_a_place_in_the_law():
    assert {room_of(path) for path in FILES} == set(LAYER_OF)


def test_a_newcomer_sees_at_most_twenty_names():
    assert len([path for path in ROOT.iterdir() if path.name != "__pycache__"]) <= 20


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_to_the_left_and_stay_out_of_private_modules(path):
    own = room_of(path)
    for module, name in imports(path):
        room = entered(module, name)
        if room is not None and room != own:
            assert LAYER_OF[room] < LAYER_OF[own], f"{own} imports {room}"
            inside = [part for part in [*module.split("."), name or ""][2:] if part.startswith("_")]
            assert not inside, f"{own} reaches into {module}: {inside[0]} is private"
        package = module.partition(".")[0]
        if package in HOMES:
            assert own in HOMES[package], f"{own} imports {package}"


def test_no_class_name_exists_twice():
    names = [
        node.name
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert len(names) == len(set(names)), sorted({name for name in names if names.count(name) > 1})


def test_the_check_sees_every_kind_of_import(tmp_path):
    path = tmp_path / "theory" / "rules.py"
    path.parent.mkdir()
    path.write_text(
        "import torch.nn\nfrom ..kernels import gram\nfrom .. import defending\n"
        "from holdfast.cli import main\ndef late():\n    from .laws import binomial\n"
    )
    assert list(imports(path, tmp_path)) == [
        ("torch.nn", None),
        ("holdfast.kernels", "gram"),
        ("holdfast", "defending"),
        ("holdfast.cli", "main"),
        ("holdfast.theory.laws", "binomial"),
    ]
