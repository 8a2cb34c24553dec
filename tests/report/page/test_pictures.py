import base64

from holdfast.report.page.pictures import LARGE, figure_of


def test_a_drawing_is_carried_inside_the_page(tmp_path):
    (tmp_path / "f.svg").write_text("<svg/>")
    text = figure_of({"name": "f", "caption": 'A "line"', "files": {"svg": str(tmp_path / "f.svg")}})
    assert base64.b64encode(b"<svg/>").decode() in text
    assert 'alt="A &quot;line&quot;"' in text


def test_a_large_drawing_is_carried_as_dots(tmp_path):
    (tmp_path / "f.svg").write_text(" " * (LARGE + 1))
    (tmp_path / "f.png").write_bytes(b"dots")
    files = {kind: str(tmp_path / f"f.{kind}") for kind in ("svg", "png")}
    assert "data:image/png;base64,ZG90cw==" in figure_of({"name": "f", "files": files})


def test_a_file_that_is_not_there_is_not_drawn_yet(tmp_path):
    assert "Not drawn yet." in figure_of({"name": "f", "files": {"png": str(tmp_path / "no.png")}})
