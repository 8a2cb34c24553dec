"""The Python on the pages of docs runs as it stands, with what a reader has at that place at hand.

Some pages are run beside what they are about (`ELSEWHERE`), tutorials as a whole. A new page with Python is
added here.
"""

import functools
import re
from pathlib import Path

import numpy as np
import pytest

from holdfast import defend, factions, invariant, krum_trimmed_mean

from ..pages import blocks

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="no docs beside the tests")

#: Where the Python of a page is run instead.
ELSEWHERE = {
    "attacks.md": "tests/lab/attacks, which learn a trigger: the block says what such functions return",
    "flower.md": "tests/flower/test_docs.py",
    "guide.md": "tests/test_walk.py",
    "lab.md": "tests/test_lab_docs.py",
    "operate.md": "tests/flower/test_operate_docs.py",
    "rules.md": "tests/cli/test_check.py, tests/aggregators/test_conventions.py",
    "theory.md": "tests/theory/test_docs.py",
}


def federation():
    """Return a model, and what twelve clients send in each of three rounds."""
    rng = np.random.default_rng(0)
    model = {"weight": np.zeros((4, 3)), "bias": np.zeros(3)}
    return model, [
        {f"node-{i}": {k: v + rng.normal(0.1, 0.1, v.shape) for k, v in model.items()} for i in range(12)}
        for _ in range(3)
    ]


def names():
    """Return what a page takes for granted: a model, what came, and what was imported above."""
    model, rounds = federation()
    return {
        "model": model, "rounds": rounds, "sent": rounds[0], "state": None, "defend": defend,
        "factions": factions, "invariant": invariant, "krum_trimmed_mean": krum_trimmed_mean,
    }  # fmt: skip


def run(page, given=None):
    """Run all Python of a page, block after block; return the names that it leaves."""
    scope = names() if given is None else given
    for block in blocks(DOCS / page, "python"):
        exec(compile(block.text, page, "exec"), scope)
    return scope


@pytest.mark.parametrize("page", ["index.md", "watch.md", "paths/run.md"])
def test_a_round_as_the_page_has_it(page, capsys):
    scope = run(page)
    assert scope["rule" if page == "paths/run.md" else "result"]
    if page != "paths/run.md":
        assert "clients heard" in capsys.readouterr().out


def test_the_lines_of_the_papers_rule_are_the_rule(capsys):
    code, chances = blocks(DOCS / "algorithm.md", "python")
    exec(code.text, scope := {})
    rng = np.random.default_rng(0)
    for _ in range(500):
        n = int(rng.integers(3, 41))
        rows = rng.integers(-3, 4, (n, 6)) * 0.1  # ties, zeros, and sums of signs that lie on the threshold
        tau, alpha = rng.integers(0, 11) / 10, rng.integers(0, 10) / 20
        if 2 * np.ceil(alpha * n) < n:
            aggregate = invariant(rows, tau=tau, alpha=alpha).update
            np.testing.assert_allclose(scope["invariant_aggregator"](rows, tau, alpha), aggregate, atol=1e-12)
    exec(chances.text, {})
    (printed,) = blocks(DOCS / "algorithm.md", "text")
    assert capsys.readouterr().out == printed.text


def test_a_round_of_pytorch_and_one_of_jax():
    torch = pytest.importorskip("torch")
    pytest.importorskip("jax")
    model = torch.nn.Linear(3, 2)
    start = {k: v.clone() for k, v in model.state_dict().items()}
    sent = {f"node-{i}": {k: v + 0.1 for k, v in start.items()} for i in range(12)}
    first, second = blocks(DOCS / "integrations.md", "python")
    scope = {**names(), "model": model, "sent": sent}
    for _ in range(3):  # two of a hearing, and one that is applied
        exec(first.text, scope)
    np.testing.assert_allclose(model.bias.detach(), start["bias"] + 0.1, rtol=1e-6)
    import jax.numpy as jnp

    own = {"dense": {"kernel": jnp.full((3, 2), 0.1)}}
    scope |= {"params": {"dense": {"kernel": jnp.zeros((3, 2))}}, "sent": dict.fromkeys(sent, own)}
    scope["state"] = None
    for _ in range(3):
        exec(second.text, scope)
    np.testing.assert_allclose(scope["params"]["dense"]["kernel"], 0.1, rtol=1e-6)


@pytest.mark.slow
def test_a_probe(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("pandas")
    from holdfast.comparing.probing import probe

    monkeypatch.setattr("holdfast.lab.probe", functools.partial(probe, scale="smoke"), raising=False)
    monkeypatch.chdir(tmp_path)
    run("probe.md")
    assert "strict" in capsys.readouterr().out


@pytest.mark.slow
def test_a_report_and_a_tracker(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    from ..runs.tiny import tiny_run

    class Tracker:
        def __getattr__(self, name):
            return lambda *_, **__: None

    monkeypatch.chdir(tmp_path)
    (tmp_path / "figures").mkdir()
    run("report.md", {"run": tiny_run(), "folder": tmp_path / "runs", "tracker": Tracker()})
    assert "Table 1" in Path("report.html").read_text(encoding="utf-8")
    assert list(tmp_path.glob("runs/*.json"))


def test_the_monitor(tmp_path, monkeypatch):
    pytest.importorskip("prometheus_client")
    from holdfast.ledger import open_ledger, record_round
    from holdfast.report.monitor import MonitorServer

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(MonitorServer, "serve_forever", lambda server: None)
    model, (sent, *_) = federation()
    with open_ledger("federation.db") as ledger:
        result = defend(sent, invariant, base=model)
        record_round(ledger, result, round=1, rule=invariant, base=model, clients=sent)
    (block,) = blocks(DOCS / "monitor.md", "python")
    exec(block.text.replace("port=7333", "port=0"), {})
    assert "invariant" in Path("page.html").read_text(encoding="utf-8")


def test_no_page_with_python_is_forgotten():
    told = re.sub(r'^""".*?"""', "", Path(__file__).read_text(), flags=re.S)
    pages = [
        path for path in DOCS.rglob("*.md") if path.parent.name != "tutorials" and blocks(path, "python")
    ]
    left = [page for page in pages if page.name not in ELSEWHERE and f"{page.name}" not in told]
    assert left == []


def test_every_rules_page_shows_a_call_that_works():
    from making.rules import _use

    from holdfast import aggregators

    for name in aggregators.__all__:
        bound, scope = getattr(aggregators, name), names()
        (code,) = re.findall(r"```python\n(.*?)```", _use(name, bound), re.S)
        if not any(map(bound.needs, ("reference", "rng"))):
            exec(code, scope | {"models": scope["sent"]}, left := {})
            assert np.isfinite(left["result"].model["weight"]).all()
