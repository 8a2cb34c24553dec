from html.parser import HTMLParser

from holdfast.report.grids import html_table, latex_table, markdown_table, text_table

ROWS = [["defence", "Acc"], ["fedavg", "98.8 ±0.7"], ["  against_x", "-9.5"]]
WILD = '<script>alert("1")</script>\n\x1b[2J'


def test_plain_text_is_aligned_by_its_numbers():
    assert text_table(ROWS).splitlines() == [
        "defence      Acc",
        "-----------  ---------",
        "fedavg       98.8 ±0.7",
        "  against_x  -9.5",
    ]
    assert text_table([["", "n"], ["a", "5"], ["b", "10 x"]]).splitlines()[2:] == ["a   5", "b  10 x"]


def test_a_head_alone_is_a_table():
    assert text_table([["defence", "Acc"]]) == "defence  Acc\n-------  ---\n"
    assert latex_table([["defence", "Acc"]], caption="").count("\\\\") == 1


def test_an_indented_name_stays_indented():
    assert "| &nbsp;&nbsp;against_x | -9.5 |" in markdown_table(ROWS)
    assert "\\quad against\\_x & -9.5 \\\\" in latex_table(ROWS, caption="")
    hints = [[""] * 2, ["", "three seeds"], ["", ""]]
    lines = html_table(ROWS, hints=hints, caption="").splitlines()
    assert '<td title="three seeds">98.8 ±0.7</td>' in lines[2]
    assert "font-size: smaller" not in lines[2]
    assert "font-size: smaller" in lines[3]
    assert lines[3].endswith("against_x</th><td>-9.5</td></tr>")


def test_no_name_means_anything_to_html_or_a_terminal():
    seen = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: seen.append(tag)
    parser.feed(html_table([[WILD, WILD], [WILD, WILD]], hints=[[WILD, WILD]] * 2, caption=WILD))
    assert set(seen) == {"table", "caption", "tr", "th", "td"}
    assert len(text_table([[WILD], [WILD]]).splitlines()) == 3
    assert "\x1b" not in text_table([[WILD], [WILD]])
