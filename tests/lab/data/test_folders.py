from pathlib import Path

import pytest

from holdfast import DataError
from holdfast.lab.data.folders import cache_folder, data_folder, found, in_folder


@pytest.fixture(autouse=True)
def home(monkeypatch, tmp_path):
    for name in ("HOLDFAST_DATA", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


def test_the_folder_is_the_one_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "mine"))
    assert data_folder() == tmp_path / "mine"


def test_a_relative_name_is_made_whole(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_DATA", "here")
    assert data_folder() == tmp_path / "here"


@pytest.mark.parametrize(
    ("platform", "data", "cache"),
    [
        ("linux", ".local/share/holdfast", ".cache/holdfast"),
        ("darwin", "Library/Application Support/holdfast", "Library/Caches/holdfast"),
        ("win32", "AppData/Local/holdfast", "AppData/Local/holdfast/cache"),
    ],
)
def test_the_default_is_the_platforms_custom(monkeypatch, home, platform, data, cache):
    monkeypatch.setattr("sys.platform", platform)
    assert data_folder() == home / data
    assert cache_folder() == home / cache


def test_the_variables_of_the_platform_are_heeded_unless_they_are_relative(monkeypatch, home):
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_DATA_HOME", "/somewhere")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert data_folder() == Path("/somewhere/holdfast")
    assert cache_folder() == home / ".cache/holdfast"


def test_a_file_is_found_or_told_how_to_get(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    assert found("a.csv") is None
    with pytest.raises(
        DataError, match=rf"no a\.csv \(a table\) in {tmp_path}: .*'holdfast data get tables'"
    ):
        in_folder("a.csv", what="a table", get="tables")
    (tmp_path / "a.csv").touch()
    assert found("a.csv") == in_folder("a.csv", what="a table", get="tables") == tmp_path / "a.csv"
