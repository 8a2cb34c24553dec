import pytest

from holdfast.report.page.shown import counted, level, percent, seconds


@pytest.mark.parametrize("odd", [None, "0.5", float("nan"), float("inf"), True, [1], {}])
def test_what_is_no_number_is_a_dash(odd):
    assert (percent(odd), seconds(odd), level(odd)) == ("–", "–", None)


def test_nothing_is_counted_as_none():
    assert counted([0], "run") == "no runs"
