import pytest

pytest.importorskip("matplotlib")

from holdfast.report.comparison import Standing
from holdfast.report.curves import draw_curves
from holdfast.runs.results import Result


def result(accuracy, success, seed=0):
    records = tuple(
        {"round": number, "accuracy": one, "attack_success": other, "diagnostics": {}}
        for number, (one, other) in enumerate(zip(accuracy, success, strict=True), start=1)
    )
    return Result("0", "key", "run", "task", "attack", "defence", seed, "cpu", len(records), records=records)


RESULTS = (result([0.5, 0.9], [0.1, 0.3]), result([0.7, 0.8], [0.2, 0.5], seed=1))


def drawn(standings, tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr("holdfast.report.curves.save", lambda figure, path: figures.append(figure) or path)
    draw_curves(standings, tmp_path / "curves.png", title="a title")
    return figures[0]


def test_a_line_is_the_mean_in_a_band_of_all_seeds(tmp_path, monkeypatch):
    figure = drawn([Standing("median", RESULTS, RESULTS)], tmp_path, monkeypatch)
    accuracy, success = figure.axes
    assert accuracy.lines[0].get_xdata().tolist() == [1, 2]
    assert accuracy.lines[0].get_ydata().tolist() == pytest.approx([0.6, 0.85])
    assert success.lines[0].get_ydata().tolist() == pytest.approx([0.15, 0.4])
    band = success.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0.1, 0.5)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["median"]


def test_no_two_defences_look_alike(tmp_path, monkeypatch):
    standings = [Standing(f"rule {number}", RESULTS, ()) for number in range(18)]
    lines = drawn(standings, tmp_path, monkeypatch).axes[0].lines
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}
    assert len(looks) == 18


def test_without_a_backdoor_the_panel_says_so(tmp_path, monkeypatch):
    plain = Standing("median", (result([0.5, 0.9], [None, None]),), ())
    success = drawn([plain], tmp_path, monkeypatch).axes[1]
    assert not success.lines
    assert success.texts[0].get_text() == "no backdoor in this attack"


def test_the_file_is_the_same_each_time(tmp_path):
    standings = [Standing("median", RESULTS, ())]
    first = draw_curves(standings, tmp_path / "a.png", title="one")
    assert first.read_bytes() == draw_curves(standings, tmp_path / "b.png", title="one").read_bytes()
