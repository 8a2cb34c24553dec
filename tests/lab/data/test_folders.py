import pwd

import numpy as np
import pytest

from holdfast.errors import DataError
from holdfast.lab.data.folders import data_folder, find_file, load_arrays


def without_a_home(monkeypatch):
    """Make the process one of a user whom the system does not know, as in many a container."""

    def unknown(number):
        raise KeyError(number)

    for name in ("HOME", "HOLDFAST_DATA", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


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


@pytest.mark.parametrize("named", [None, "~/data", "~nobody-of-this-name/data"])
def test_without_a_home_it_says_which_folder_to_name(monkeypatch, named):
    without_a_home(monkeypatch)
    if named:
        monkeypatch.setenv("HOLDFAST_DATA", named)
    with pytest.raises(DataError, match="no home folder: set HOLDFAST_DATA"):
        data_folder()


def test_without_a_home_a_folder_that_is_named_is_taken(monkeypatch, tmp_path):
    without_a_home(monkeypatch)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.delenv("HOLDFAST_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert data_folder() == tmp_path / "holdfast"


@pytest.mark.parametrize("content", ["encrypted", "a lone array", "text"])
def test_a_file_that_holds_other_things_than_arrays_is_refused(tmp_path, content):
    path = tmp_path / "x.npz"
    np.savez(path, a=np.arange(3))
    assert load_arrays(path, "a")[0].tolist() == [0, 1, 2]
    if content == "encrypted":
        raw = bytearray(path.read_bytes())
        raw[raw.index(b"PK\x01\x02") + 8] |= 1
        path.write_bytes(raw)
    elif content == "a lone array":
        with path.open("wb") as file:
            np.save(file, np.arange(3))
    else:
        path.write_text("text")
    with pytest.raises(DataError, match="must hold the arrays a"):
        load_arrays(path, "a")


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
