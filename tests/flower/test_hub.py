"""The example is an app that Flower builds, and that Flower Hub takes, by Flower's own rules."""

import shutil
import tomllib
import zipfile
from io import BytesIO

import pytest

pytest.importorskip("flwr", reason="needs Flower: pip install '.[flower]'")

from flwr.cli.app_cmd.publish import _collect_file_paths, _validate_description, _validate_files
from flwr.cli.build import build_fab_from_disk, build_fab_from_files
from flwr.cli.config_utils import load_and_validate
from flwr.cli.utils import collect_files

import holdfast

from .federation import APP, ROOT

pytestmark = [
    pytest.mark.skipif(not APP.exists(), reason="no examples beside the tests"),
    pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning"),  # Flower's own
]


@pytest.fixture
def app(tmp_path):
    """Return the example in a folder that is called as the app is, without what runs have left in it."""
    return shutil.copytree(APP, tmp_path / "backdoor-drill", ignore=shutil.ignore_patterns("__pycache__"))


def test_the_bundle_has_the_format_the_licence_and_the_target_that_the_hub_asks_for(app):
    bundle, metadata = build_fab_from_files(collect_files(app))
    assert metadata.fab_format_version == 1
    assert (metadata.flwr_version_min, metadata.flwr_version_target) == ("1.41", "1.41.0")
    with zipfile.ZipFile(BytesIO(bundle)) as held:
        names = set(held.namelist())
        assert {"LICENSE", "README.md", "pyproject.toml", "backdoor_drill/server_app.py"} <= names
        assert "[tool.uv]" in held.read("pyproject.toml").decode()  # what keeps a run from installing
    assert bundle == build_fab_from_disk(app)


def test_what_publishing_checks_before_it_uploads_passes(app, capsys):
    config, warnings = load_and_validate(app / "pyproject.toml", check_module=False)
    assert warnings == []
    _validate_description(config["project"]["description"])
    assert len(config["project"]["description"]) <= 200
    paths = _collect_file_paths(app)
    _validate_files(paths)
    assert "Skip:" not in capsys.readouterr().out
    assert app / "LICENSE" in paths


def test_the_app_asks_for_this_version_of_holdfast_and_carries_its_licence():
    project = tomllib.loads((APP / "pyproject.toml").read_text())["project"]
    (needed,) = [one for one in project["dependencies"] if one.startswith("holdfast-fl")]
    major, minor, _ = holdfast.__version__.split(".")
    assert f">={major}.{minor}," in needed
    assert (APP / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
