"""A module imports only from layers to its left, and heavy packages only where they belong."""

import ast
from pathlib import Path

import pytest

import holdfast

ROOT = Path(holdfast.__file__).parent
LAYERS = [
    {"errors"},
    {"atomic", "diagnostics", "folders", "layout", "literals", "threads"},
    {"core", "updates", "counting", "inference", "spread"},
    {"kernels", "theory"},
    {"aggregators", "data", "models"},
    {"attacks", "training"},
    {"buffers", "screening", "storage", "trials", "federation", "scenario"},
    {"advice_text", "files", "flower", "theory_check", "lab", "pace", "simulation"},
    {"adviser", "choices", "catalogue", "checkpoints"},
    {"results"},
    {"parallel", "experiment", "studies"},
    {"paper", "reproduction"},
    {"report"},
    {"cli"},
]
HOMES = {
    "numba": {"kernels"},
    "torch": {"models", "simulation", "studies", "training"},
    "flwr": {"flower"},
    "ray": {"files", "parallel"},
    "typer": {"cli"},
    "rich": {"cli"},
    "matplotlib": {"report"},
    "PIL": {"data"},
    "safetensors": {"models"},
}
LAYER_OF = {module: depth for depth, modules in enumerate(LAYERS) for module in modules}
FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


def imports(path):
    """Yield (package, module of holdfast or None) for every import of a file."""
    depth = len(path.relative_to(ROOT).parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name.split(".")[0], None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0], ([*node.module.split("."), ""])[1] or None
        elif isinstance(node, ast.ImportFrom) and node.level == depth:
            names = [node.module.split(".")[0]] if node.module else [alias.name for alias in node.names]
            yield from (("holdfast", name) for name in names)


def top(path):
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def test_every_module_has_a_layer():
    assert {top(path) for path in FILES} == set(LAYER_OF)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_to_the_left(path):
    own = top(path)
    for package, module in imports(path):
        if package == "holdfast" and module not in {None, *holdfast.__all__}:
            assert LAYER_OF[module] < LAYER_OF[own] or module == own, f"{own} imports {module}"
        if package in HOMES:
            assert own in HOMES[package], f"{own} imports {package}"


def test_the_check_sees_a_wrong_import(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.test_layers.ROOT", tmp_path)
    path = tmp_path / "errors.py"
    path.write_text(
        "import torch\nfrom .kernels import gram\nfrom . import screening\nfrom holdfast.cli import main\n"
    )
    assert list(imports(path)) == [
        ("torch", None),
        ("holdfast", "kernels"),
        ("holdfast", "screening"),
        ("holdfast", "cli"),
    ]
