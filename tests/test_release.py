"""What a release is made of: one version, one name, and no word that leads to somebody else's package."""

import re
import runpy
import subprocess
from pathlib import Path

import pytest

import holdfast

ROOT = Path(__file__).parent.parent
RELEASE = ROOT / ".ci" / "release.py"
pytestmark = pytest.mark.skipif(
    not (RELEASE.exists() and (ROOT / ".git").exists()), reason="no checkout around the tests"
)

#: The index has a package of the name that ours is imported by; it is not ours, and has the same import name.
FOREIGN = re.compile(
    r"(?:pip3?|pipx|uv|conda|poetry) (?:install|add)\b[^\n`#]*?[ '\"]holdfast(?![-./\w])"
    r"|\bholdfast\[[a-z]+[],]"
    r"|dependencies *= *\[[^]\n]*\"holdfast[\"=<>~!; ]"
)


def texts():
    """Yield every text of the checkout that a reader, pip or Flower may take at its word."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    kinds = {".md", ".py", ".toml", ".txt", ".ipynb", ".cff", ".html", ".js", ".sh", ""}
    for name in listed.split("\n"):
        path = ROOT / name
        if name and path.suffix in kinds and path.is_file() and path != Path(__file__):
            yield name, path.read_text(encoding="utf-8", errors="replace")


def test_no_text_names_the_package_of_somebody_else():
    found = {name: FOREIGN.findall(text) for name, text in texts()}
    assert len(found) > 300
    assert not {name: words for name, words in found.items() if words}


@pytest.mark.parametrize(
    "text",
    [
        "pip install holdfast",
        "pip install 'holdfast[flower]'",
        "python -m pip install --upgrade holdfast==1.0",
        "uv add holdfast",
        'dependencies = ["flwr>=1.41", "holdfast"]',
        'dependencies = ["holdfast>=0.2", "flwr"]',
        "needs holdfast[sim,report]",
    ],
)
def test_a_text_that_did_would_be_found(text):
    assert FOREIGN.search(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install 'holdfast-fl[flower]'",
        "pip install '.[flower]'",
        "cd holdfast",
        'packages = ["holdfast-fl"]',
    ],
)
def test_our_own_name_is_not(text):
    assert not FOREIGN.search(text)


def test_everything_installs_from_a_checkout_as_long_as_no_index_has_the_package():
    """Whoever registers the name would have what they like installed by those who follow a hint."""
    assert not [name for name, text in texts() if re.search(r"pip install\s+'?holdfast-fl", text)]


def test_the_version_stands_in_one_place_and_changelog_and_citation_follow():
    assert runpy.run_path(str(RELEASE))["released_version"]() == holdfast.__version__


def test_a_build_takes_the_version_of_the_code():
    core = pytest.importorskip("hatchling.metadata.core", reason="hatchling is not installed")
    plugins = pytest.importorskip("hatchling.plugin.manager").PluginManager()
    project = core.ProjectMetadata(str(ROOT), plugins)
    assert (project.core.name, project.version) == ("holdfast-fl", holdfast.__version__)
    assert {"cli", "sim", "flower", "ray", "report", "data"} <= project.core.optional_dependencies.keys()


def test_a_release_whose_changelog_was_forgotten_is_stopped(tmp_path):
    for name in ("holdfast/__init__.py", "CHANGELOG.md", "CITATION.cff"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 0.0.9 (2020-01-01)\n")
    with pytest.raises(SystemExit, match=r"CHANGELOG\.md 0\.0\.9"):
        runpy.run_path(str(RELEASE))["released_version"](tmp_path)


def test_the_first_example_of_the_readme_is_what_a_release_runs():
    first_example = runpy.run_path(str(RELEASE))["first_example"]
    readme = "# A\n```bash\nmake\n```\n```python\nprint(1)\n```\n```python\nprint(2)\n```\n"
    assert first_example(readme) == "print(1)\n"
    compile(first_example((ROOT / "README.md").read_text()), "README.md", "exec")
