"""The benchmark's own arithmetic on known numbers, and its core on tiny sizes, without peers."""

import builtins

import numpy as np
import pytest

from benchmarks import budget, contenders, flower, runner, summary, table, worker
from benchmarks.cases import Case, Store, is_disturbed, plan
from benchmarks.data import Updates
from benchmarks.measure import interleaved, relative_distance

pytestmark = pytest.mark.slow

SIZE = {"n_clients": 20, "dim": 1_000}
MACHINE = {"processor": "X", "cores": 2, "memory_gib": 24.0, "vector_extensions": []}


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cases")


def timed(contender, ratio, **fields):
    known = {"kind": "time", "status": "measured", "threads": 0, "reference_seconds": 0.01}
    return {**known, **SIZE, "contender": contender, "ratio": ratio, "seconds": ratio / 100, **fields}


def test_a_peer_that_is_not_installed_is_left_out_by_name(monkeypatch):
    real = builtins.__import__

    def without_peers(name, *args, **kwargs):
        if name.split(".")[0] in {"torch", "flwr", "byzfl"}:
            raise ImportError(f"No module named {name!r}")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_peers)
    found, absent = contenders.contenders()
    assert set(absent) == {"torch", "flower", "byzfl"}
    assert {contender.peer.split()[0] for contender in found} == {"holdfast", "numpy"}


def test_contenders_agree_with_holdfast():
    updates = Updates(10, 300)
    found, _ = contenders.contenders(("holdfast", "numpy"))
    results = {c.name: c.call(10)(updates.given_as(c.form)) for c in found}
    for name, result in results.items():
        assert relative_distance(result, results[f"{name.split()[0]} holdfast"]) < 1e-6, name


def test_the_core_measures_times_and_keeps_them(store, monkeypatch):
    monkeypatch.setattr(worker, "reference", lambda: lambda matrix: matrix.mean(0))
    monkeypatch.setattr(worker, "REFERENCE_FORM", "matrix")
    monkeypatch.setattr(worker, "contenders", lambda: contenders.contenders(("holdfast", "numpy")))
    cases = [Case("time", name, 8, 500) for name in ("invariant holdfast", "trimmed_mean numpy sort")]
    worker.measure_all(cases, store, repeat_for=0.05)
    for case in cases:
        record = store.get(case)
        assert record["status"] == "measured"
        assert record["ratio"] > 0
        assert record["reading_seconds"] > 0
        assert record["nanoseconds_per_element"] == pytest.approx(1e9 * record["seconds"] / 4_000)
    store.clear()
    assert store.get(cases[0]) is None


def test_what_a_contender_throws_is_its_result(store, monkeypatch):
    def call(n_clients):
        raise RuntimeError("too large\nand more")

    broken = contenders.Contender("median", "holdfast", "rows", call)
    monkeypatch.setattr(worker, "contenders", lambda: ([broken], {}))
    case = Case("time", broken.name, 3, 10)
    worker.measure_all([case], store)
    assert store.get(case)["reason"] == "RuntimeError: too large"


def test_calls_are_timed_by_turns():
    order = []
    found = interleaved(lambda: order.append("call"), lambda: order.append("mean"), repeat_for=0.1)
    assert found["n_turns"] >= 1
    assert order[:2] == ["mean", "call"]
    assert set(order) == {"mean", "call"}


def test_known_cases_are_not_measured_again_and_disturbed_ones_are(store, monkeypatch):
    known, disturbed, new = (Case("time", "median holdfast", n, 10) for n in (3, 4, 5))
    store.put(known, "measured", seconds=1.0, outside_load=0.0)
    store.put(disturbed, "measured", seconds=1.0, outside_load=1.0)
    assert is_disturbed(store.get(disturbed))
    asked = []
    monkeypatch.setattr(runner, "_work", lambda cases, *_: (asked.extend(cases), (len(cases), None))[1])
    runner.run([[known, disturbed, new]], store, report=lambda case, is_done: None)
    assert asked == [disturbed, new]


def test_a_worker_that_dies_costs_only_the_case_it_was_at(store, monkeypatch):
    cases = [Case("time", "median holdfast", n, 10) for n in (3, 4, 5)]
    ends = iter([(1, "stopped"), (1, None)])
    monkeypatch.setattr(runner, "_work", lambda *_: next(ends))
    runner.run([cases], store, report=lambda case, is_done: None)
    assert store.get(cases[1])["reason"] == "stopped"
    assert next(ends, None) is None


def test_cases_too_slow_or_too_large_are_skipped_with_the_reason(store):
    store.put(Case("time", "median torch", 10, 1_000), "measured", seconds=1.0)
    store.put(Case("memory", "median torch", 10, 1_000), "measured", extra_bytes=400_000)
    slow, fine = Case("time", "median torch", 10, 100_000), Case("time", "median torch", 10, 10_000)
    assert "would take about 100 s" in budget.objection(slow, store, available=10**12)
    assert "GiB are free" in budget.objection(fine, store, available=4_000_000)
    assert budget.objection(fine, store, available=10**12) is None
    store.put(Case("time", "median torch", 10, 1_000), "measured", seconds=1.0, outside_load=1.0)
    assert budget.objection(slow, store, available=10**12) is None


def test_the_full_plan_holds_every_size_and_the_large_ones_without_peers():
    found, _ = contenders.contenders(("holdfast", "numpy"))
    cases = [case for group in plan("full", found) for case in group]
    assert len(set(cases)) == len(cases) == len({case.key for case in cases})
    assert {(c.n_clients, c.dim) for c in cases if c.kind == "time" and "numpy" in c.contender} == {
        (n, d) for n in (10, 20, 50, 100) for d in (100_000, 1_000_000, 11_689_512)
    } - {(100, 11_689_512)} | {(20, 40_000)}
    assert Case("time", "rfa holdfast", 1_000, 100_000) in cases


def test_growth_is_fitted_as_the_power():
    times = [timed("invariant holdfast", 1.0, dim=d, seconds=3e-9 * d**1.5) for d in (10**5, 10**6, 10**7)]
    times += [timed("invariant holdfast", 1.0, n_clients=n, dim=10**6, seconds=n**2 * 1e-3) for n in (10, 40)]
    found = summary.growth([t for t in times if t["n_clients"] == 20])
    assert found["invariant holdfast"]["in_d"] == pytest.approx(1.5)
    found = summary.growth([t for t in times if t["n_clients"] != 20])
    assert found["invariant holdfast"] == {"in_n": pytest.approx(2.0)}


def test_a_small_model_does_not_bend_the_growth_of_large_ones():
    times = [timed("rfa holdfast", 1.0, dim=d, seconds=1e-9 * max(d, 10**5)) for d in (40_000, 10**5, 10**6)]
    assert summary.growth(times)["rfa holdfast"]["in_d"] == pytest.approx(1.0)


def test_times_on_one_thread_are_given_per_value_beside_the_limit():
    record = timed("median holdfast", 2.0, threads=1, seconds=4e-5, reading_seconds=1e-5)
    growth = {"median holdfast": {"in_d": 1.0}}
    assert table.details({"ns_per_value": summary.ns_per_value([record]), "growth": growth})[-3:] == [
        "| mean torch | 500 | – | – |",
        "| reading | 0.5 | – | – |",
        "| median holdfast | 2.0 | 1.0 | – |",
    ]


def test_explain_costs_its_ratio_to_the_plain_call():
    times = [timed("rfa holdfast", 4.0), timed("rfa holdfast explain", 5.0)]
    assert summary.explain_cost(times) == {"rfa": {"20x1000": 1.25}}


def test_the_table_shows_ratios_and_holds_invariant_against_trimmed_means(tmp_path):
    cases = [
        timed("invariant holdfast", 2.0),
        timed("trimmed_mean numpy sort", 20.0),
        timed("trimmed_mean numpy partition", 90.0),
        timed("trimmed_mean byzfl torch", 246.0),
    ]
    text = table.lines({"cases": cases, "machine": MACHINE}, 20, 1_000)
    assert "| `invariant` | **2.0** | 20 | – | – | – | 250 | 10 to 120 × |" in text

    page = tmp_path / "page.md"
    page.write_text("before\n<!-- benchmark:start -->\nold\n<!-- benchmark:end -->\nafter\n")
    table.write_between_markers(page, ["new"])
    table.write_between_markers(page, ["new"])
    assert page.read_text() == "before\n<!-- benchmark:start -->\nnew\n<!-- benchmark:end -->\nafter\n"
    page.write_text("no markers")
    with pytest.raises(ValueError, match="needs the markers"):
        table.write_between_markers(page, ["new"])


def test_the_same_updates_are_made_again():
    np.testing.assert_array_equal(Updates(3, 50).matrix, np.stack(Updates(3, 50).rows))


@pytest.mark.parametrize("name", flower.OURS + flower.THEIRS)
def test_the_strategies_are_measured_on_a_tiny_network(name):
    timed = flower.measured(name, 1, "time")
    assert timed["ratio_to_fedavg"] > 0
    assert timed["distance_from_mean"] < 1
    assert flower.measured(name, 1, "memory")["new_model_bytes"] > 4 * 1_000


def test_the_table_of_strategies_names_each_and_leaves_out_what_failed():
    case = {"seconds": 2.0, "ratio_to_fedavg": 1.25, "peak_bytes": 3e8}
    summary = {
        "n_nodes": 20,
        "dim": 1000,
        "machine": MACHINE,
        "cases": {"Robust": case, "Krum": {"failed": "x"}},
    }
    text = flower.lines(summary)
    assert "| `Robust` | 2.00 | 1.2 | 300 |" in text
    assert "| `Krum` | – | – | – |" in text


@pytest.mark.parametrize(("load", "is_full"), [(0.0, True), (1.0, True), (0.0, False)])
def test_only_what_is_measured_whole_on_an_idle_machine_is_published(load, is_full, tmp_path, monkeypatch):
    monkeypatch.setattr(flower, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(flower, "ROOT", tmp_path)
    page = tmp_path / "docs" / "flower.md"
    page.parent.mkdir()
    page.write_text(f"{table.START}\nold\n{table.END}\n")
    case = {"seconds": 2.0, "ratio_to_fedavg": 1.25, "peak_bytes": 3e8, "outside_load": load}
    flower.write({"n_nodes": 20, "dim": 1, "machine": MACHINE, "cases": {"Robust": case}}, is_full=is_full)
    is_final = is_full and not load
    assert (tmp_path / "results" / "flower.json").exists() == is_final
    assert (tmp_path / "results" / "draft" / "flower.json").exists() != is_final
    assert ("| `Robust` |" in page.read_text()) == is_final
