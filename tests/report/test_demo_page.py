import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install holdfast[report])")

from holdfast.report.demo import Standing
from holdfast.report.demo_page import draw, write_page

STANDINGS = [Standing("fedavg", 1.0, 1.0), Standing("rlr", 0.5, -0.4), Standing("median", 0.1, -0.001)]


def test_the_page_stands_alone_and_holds_the_numbers(tmp_path):
    text = write_page(STANDINGS, tmp_path).read_text()
    assert "<svg" in text
    assert "http" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("https://matplotlib.org", "")
    assert "-40%" in text
    assert ">-0%" not in text
    assert 'class="is-moved">is moved' in text


def test_the_figure_has_two_bars_a_rule():
    (axes,) = draw(STANDINGS).axes
    assert len(axes.patches) == 6
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fedavg", "median", "rlr"]
