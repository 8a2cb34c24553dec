import pytest

pytest.importorskip("matplotlib")

from holdfast.report.study_figures import histogram, landscape, mimicry, separation


def heights(line):
    return line.get_ydata().tolist()


def test_a_landscape_has_one_panel_per_exposure_and_one_for_all():
    def seed(rise):
        slopes = [
            {"exposure": exposure, "malicious": [0.0, rise], "random": [0.0, 0.1]} for exposure in (0.0, 0.5)
        ]
        return {"direction": "gradient", "distances": [0.0, 1.0], "slopes": slopes}

    figure = landscape([seed(1.0), seed(2.0)])
    first, _, together = figure.axes
    assert first.get_title(loc="left") == "(a) Edge case, 0% exposed"
    assert [heights(line) for line in first.lines] == [[0, 1.5], [0, 0.1]]
    assert [line.get_label() for line in together.lines] == ["0% exposed", "50% exposed"]
    assert "bands: lowest to highest" in figure._supxlabel.get_text()


def test_a_histogram_shows_all_entries_and_the_small_ones():
    bins = {"edges": [-1, 0, 1], "counts": [1, 2], "zoom_edges": [-0.1, 0, 0.1], "zoom_counts": [0, 0]}
    whole, zoom = histogram([{"n_entries": 3, "share_above": {"1/10": 0.5}, **bins}]).axes
    assert whole.patches[0].get_data().values.tolist() == [1, 2]
    assert zoom.patches[0].get_data().edges.tolist() == [-0.1, 0, 0.1]
    assert "50.00% are above" in whole.get_title(loc="left")


def test_mimicry_is_drawn_by_the_share_of_entries_kept():
    points = [{"n_kept": n, "cosine": n / 10, "slowdown": 1 - n / 10} for n in (1, 10)]
    cosine, slowdown = mimicry([{"n_entries": 10, "points": points}]).axes
    assert cosine.lines[0].get_xdata().tolist() == [0.1, 1]
    assert heights(cosine.lines[0]) == [0.1, 1]
    assert heights(slowdown.lines[0]) == [0.9, 0]


def test_the_separation_names_each_kind_of_model_once():
    seed = {"malicious": 2.0, "left_out": [1.0, 0.9], "malicious_success": 1.0, "mixed_success": [0.0, 0.1]}
    far, success = separation([seed, seed]).axes
    assert heights(far.lines[0]) == [1.0, 0.9]
    assert [text.get_text() for text in far.get_legend().get_texts()] == [
        "honest, from the others",
        "malicious",
    ]
    assert sum(bar.get_height() for bar in success.patches) == 4
