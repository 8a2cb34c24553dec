import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install holdfast[report])")

from holdfast.report.demo import contests
from holdfast.report.demo_page import write_page
from holdfast.runs.parallel import make_runs


def test_the_page_stands_alone_and_holds_the_numbers(tmp_path):
    tried = contests(n_rounds=1)[:1]
    for _ in make_runs(tried[0].everything, tmp_path / "results", n_workers=1):
        pass
    text = write_page(tried, tmp_path / "results", tmp_path / "out", seed=0).read_text()
    foreign = text
    for known in (
        "http://www.w3.org",
        "http://purl.org",
        "http://creativecommons.org",
        "https://matplotlib.org",
    ):
        foreign = foreign.replace(known, "")
    assert "http" not in foreign
    _, attacked = tried[0].results(tmp_path / "results")
    for result in attacked.values():
        assert f"{result.last('attack_success'):.1%}" in text
    assert (tmp_path / "out" / "phishing.png").read_bytes().startswith(b"\x89PNG")
