"""The benchmark of files, on tiny ones."""

from benchmarks import files


def test_it_measures_time_against_reading_and_its_own_memory(tmp_path, capsys):
    files.make_files(tmp_path, 20, 100_000)
    task = {"folder": str(tmp_path), "rule": "multi_krum", "memory": "1GB", "is_cold": True}
    found = files._measured(task)
    assert found["n_clients"] == 20
    assert found["input_bytes"] > 21 * 400_000
    assert found["ratio"] > 0
    assert found["seconds"] > 0
    assert 10e6 < found["peak_anonymous_bytes"] < 3e9
    assert "multi_krum   20 x" in files._line(found)


def test_a_disk_without_room_makes_the_model_smaller_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(files.shutil, "disk_usage", lambda folder: type("Disk", (), {"free": 92_000_000}))
    assert files._fitting(100_000_000, 20, str(tmp_path)) == 800_000
    assert "800,000 parameters instead of 100,000,000" in capsys.readouterr().out
    assert files._fitting(1_000, 20, str(tmp_path)) == 1_000
