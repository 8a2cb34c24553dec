import pytest

from holdfast.errors import DataError
from holdfast.lab.data.folders import data_folder, find_file


def test_the_folder_is_the_one_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "mine"))
    assert data_folder() == tmp_path / "mine"


def test_a_relative_folder_becomes_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_DATA", "here")
    assert data_folder() == tmp_path / "here"


def test_without_a_name_it_is_the_users_own(monkeypatch, tmp_path):
    monkeypatch.delenv("HOLDFAST_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_data_path", lambda app, appauthor: tmp_path / app)
    assert data_folder() == tmp_path / "holdfast"


def test_the_first_file_there_is_is_found_or_the_error_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    names = {"what": "a table", "get": "tables"}
    with pytest.raises(
        DataError, match=rf"no a\.csv or b\.csv \(a table\) in {tmp_path}: .*'holdfast data get tables'"
    ):
        find_file("a.csv", "b.csv", **names)
    for name in ("b.csv", "a.csv"):
        (tmp_path / name).touch()
        assert find_file("a.csv", "b.csv", **names) == tmp_path / name
