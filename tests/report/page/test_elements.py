from holdfast.report.page.elements import breakable, element, joined

from .conftest import HOSTILE


def test_text_and_attributes_cannot_become_markup():
    text = element("a", HOSTILE, href=f'"{HOSTILE}"')
    assert text.count("<") == 2
    assert text.count('"') == 2
    assert breakable(HOSTILE).count("<") == 0


def test_what_is_markup_already_is_not_escaped_again():
    assert joined(element("b", "&"), "&") == "<b>&amp;</b>&amp;"


def test_none_and_false_leave_an_attribute_out():
    assert element("i", None, hidden=None, open=False, data_place=0) == '<i data-place="0"></i>'
