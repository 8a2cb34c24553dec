import pytest

pytest.importorskip("matplotlib")

from holdfast.report.leak_figure import leak_figure
from holdfast.report.plotting import file_content


def texts(axes):
    return [text.get_text() for text in axes.texts]


def test_every_rule_is_a_point_with_its_name_and_numbers_in_the_order_of_the_leaks():
    points = {"fedavg": [(0.2, 1.0)], "median": [(0.05, 0.7)], "krum": [(0.0, 0.9)]}
    axes, names = leak_figure(points, share=0.2, title="one round").axes
    expected = ["krum  0.000 / 0.90", "median  0.050 / 0.70", "fedavg  0.200 / 1.00"]
    assert [text for text in texts(names) if "/" in text and "rule" not in text] == expected
    places = {tuple(line.get_xydata()[0]) for line in axes.lines if line.get_marker() == "o"}
    assert places == {(1.0, 0.2), (0.7, 0.05), (0.9, 0.0)}
    assert "attackers' share: 0.2" in texts(axes)[0]


def test_several_draws_are_a_cross_around_their_mean():
    axes, _ = leak_figure({"median": [(0.1, 0.5), (0.3, 0.7)]}, share=0.2, title="").axes
    (point,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert point.get_xydata()[0] == pytest.approx([0.6, 0.2])
    lines = [line.get_xydata().tolist() for line in axes.lines if len(line.get_xydata()) == 2]
    assert [[pytest.approx(0.5), pytest.approx(0.2)], [pytest.approx(0.7), pytest.approx(0.2)]] in lines


def test_what_lies_far_away_stands_at_the_edge_with_its_numbers():
    axes, names = leak_figure({"sign_sgd": [(7.0, 40.0)], "fedavg": [(0.2, 1.0)]}, share=0.2, title="").axes
    (far,) = [line for line in axes.lines if line.get_marker() == "D"]
    assert far.get_xydata()[0].tolist() == [axes.get_xlim()[1], axes.get_ylim()[1]]
    assert "sign_sgd  7.000 / 40.00" in texts(names)


def test_a_figure_of_many_rules_can_be_written():
    points = {f"rule {number}": [(number / 100, number / 20)] for number in range(25)}
    assert file_content(leak_figure(points, share=0.2, title="many"), "svg").startswith(b"<?xml")
