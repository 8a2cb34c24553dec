"""holdfast.lab.compare, and what it returns."""

import io
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from holdfast import Aggregate, InputError, fedavg, median
from holdfast.comparing.making import progress_shown
from holdfast.lab import Attack, Defence, build_run, compare
from holdfast.lab.choices import Numbers
from holdfast.paper.experiment import runs_folder
from holdfast.runs.results import pack_results

from ..runs.tiny import LITTLE_DATA, NUMBERS

OWN = build_run("phishing", settings=LITTLE_DATA).replace(name="blobs").task


def compared(out, **choices):
    given = {"seeds": 2, "settings": LITTLE_DATA, "numbers": NUMBERS, "out": out, "n_workers": 1}
    defences = choices.pop("defences", {"plain": fedavg, "middle": median})
    task, attack = choices.pop("task", "phishing"), choices.pop("attack", "edge-case")
    return compare(task, attack, defences, **(given | choices))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return compared(tmp_path_factory.mktemp("compared"), baseline="plain")


def test_every_defence_stands_with_all_its_seeds(found):
    assert [one["defence"] for one in found.standings] == ["plain", "middle"]
    assert found.seeds == [0, 1]
    for one in found.standings:
        assert len(one["accuracy"]["values"]) == 2
        assert len({*one["attacked"], *one["honest"]}) == 4


def test_records_are_one_line_per_run_and_round(found):
    assert len(found.records) == 2 * 2 * 2 * 3  # defences, attacked or not, seeds, rounds
    assert {record["round"] for record in found.records} == {1, 2, 3}
    under_attack = [record for record in found.records if record["attacked"] and record["defence"] == "plain"]
    assert [record["seed"] for record in under_attack] == [0, 0, 0, 1, 1, 1]
    assert {record["n_attackers"] for record in found.records if not record["attacked"]} == {0}
    last = [record["accuracy"] for record in under_attack if record["round"] == 3]
    assert last == found.standings[0]["accuracy"]["values"]
    # plain averaging lets through what the attackers' share is
    leaks = [record["leak"] for record in under_attack if record["leak"] is not None]
    assert leaks
    assert all(0 < leak < 1 for leak in leaks)


def test_the_table_has_all_defences_as_text_latex_and_html(found):
    assert repr(found) == found.table()
    mean = found.standings[1]["accuracy"]["mean"]
    for text in (found.table(), found.to_latex(), found._repr_html_()):
        assert "plain" in text
        assert "middle" in text
        assert f"{100 * mean:.1f}" in text
    assert r"\begin{tabular}" in found.to_latex()
    assert found._repr_html_().startswith("<")
    assert "against plain" in found.table()


def test_records_become_a_frame(found):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == len(found.records)
    by_defence = frame[frame.attacked & (frame["round"] == 3)].groupby("defence").accuracy.mean()
    assert by_defence["middle"] == pytest.approx(found.standings[1]["accuracy"]["mean"])


def test_without_pandas_the_records_are_still_there(found, monkeypatch):
    monkeypatch.setattr("holdfast.comparing.frames.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install pandas, or take \.records"):
        found.to_pandas()


def test_it_is_drawn_and_written(found, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    accuracy, success = found.figure().axes[:2]
    assert len(accuracy.lines) == len(success.lines) == 2
    assert "no attack" in found.figure(attacked=False).get_suptitle()
    assert pickle.loads(pickle.dumps(found.figure()))._repr_png_().startswith(b"\x89PNG")  # for a notebook
    page = found.page(tmp_path / "mine.html")
    assert "middle" in page.read_text(encoding="utf-8")


def test_what_is_stored_is_not_run_again(found, tmp_path, monkeypatch):
    first = compared(tmp_path, seeds=1)
    monkeypatch.setattr("holdfast.runs.parallel.make_locally", None)
    assert compared(tmp_path, seeds=1).standings == first.standings
    numbers = [one["accuracy"]["values"][0] for one in found.standings]
    assert [one["accuracy"]["values"][0] for one in first.standings] == numbers


def lossy(updates):
    n_numbers = np.asarray(updates).shape[1]
    return Aggregate(np.full(n_numbers, np.nan))


def test_rounds_that_aggregated_nothing_are_told_of_also_once_packed(tmp_path):
    told = "the model stayed as it was: lossy, under attack: 6 of 6; lossy, no attack: 6 of 6."
    lost = compared(tmp_path, defences=[lossy, median])
    assert len(pack_results(runs_folder(tmp_path))) == 8
    packed = compared(tmp_path, defences=[lossy, median])
    assert packed.standings == lost.standings
    for found in (lost, packed):
        for text in (found.table(), found.to_latex(), found._repr_html_()):
            assert told in " ".join(text.split())
    assert told in packed.page(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "stayed as it was" not in compared(tmp_path, defences=[median]).table()


def test_seeds_can_be_chosen_and_values_named(tmp_path):
    run = build_run("phishing", settings=LITTLE_DATA)
    found = compare(
        run.task,
        Attack("nobody"),
        [Defence("mine", median), "fedavg"],
        seeds=(7,),
        numbers=Numbers(n_rounds=1, n_clients=8, n_per_round=4),
        out=tmp_path,
        n_workers=1,
    )
    assert found.seeds == [7]
    assert [one["defence"] for one in found.standings] == ["mine", "fedavg"]


@pytest.mark.parametrize(
    ("choices", "needed"),
    [
        ({"defences": ["medain"]}, "no defence 'medain'; did you mean 'median'"),
        ({"defences": [median, median]}, "two defences are called median"),
        ({"seeds": 0}, "at least one seed is needed; got none"),
        ({"seeds": "1,1"}, "seed 1 is given twice"),
        ({"baseline": "krum"}, "no defence 'krum' to compare with"),
        ({"baseline": median}, r"baseline must be the name of one of the defences; got median\(\)"),
        ({"defences": []}, "name at least one defence"),
        ({"defences": {}}, "name at least one defence"),
        ({"defences": "fedavg"}, r"got 'fedavg': write \['fedavg'\]"),
        ({"defences": median}, r"got median\(\): write \[median\(\)\]"),
        ({"defences": {1: median}}, "names of defences must be texts; got 1"),
        ({"numbers": {"n_rounds": 1}}, "numbers must be Numbers, such as .*; got {'n_rounds': 1}"),
        ({"settings": ["lr"]}, "settings must be a mapping"),
        ({"attack": 3}, "attack must be a name, such as .*, or an Attack; got 3"),
        ({"task": 3}, "task must be a name, .* or a Task; got 3"),
        ({"task": OWN, "attack": None}, "the task blobs comes without an attack: pass one"),
    ],
)
def test_what_cannot_be_compared_is_told_before_anything_runs(choices, needed, tmp_path):
    with pytest.raises(InputError, match=needed):
        compared(tmp_path, **choices)
    assert not list(tmp_path.iterdir())


def test_a_log_gets_a_line_now_and_then_and_an_interrupt_a_word(monkeypatch):
    times = iter([0.0, 10.0, 31.0, 31.0, 40.0])
    monkeypatch.setattr("holdfast.comparing.making.time.monotonic", lambda: next(times))
    log = io.StringIO()

    def interrupted():
        with progress_shown(9, stream=log) as show:
            show(1, "too early")
            show(2, "half a minute later")
            show(3, "too early again")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    first, second = log.getvalue().splitlines()
    assert first == "2 of 9 rounds, half a minute later"
    assert second == "Stopped. All is stored up to the last checkpoint: the same call resumes."


def test_a_terminal_has_one_line_that_changes(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    times = iter([0.0, 1.0, 1.0])
    monkeypatch.setattr("holdfast.comparing.making.time.monotonic", lambda: next(times))
    shown = Terminal()
    with progress_shown(9, stream=shown) as show:
        show(1, "so far")
    assert shown.getvalue() == "\r\033[K1 of 9 rounds, so far\r\033[K"


@pytest.mark.parametrize("is_quick", [True, False])
def test_a_notebook_has_one_output_that_changes_or_none(is_quick, monkeypatch):
    shown = []

    class Display:
        def update(self, data, *, raw):
            shown[-1] = data["text/plain"]

    def display(data, *, raw, display_id):
        shown.append(data["text/plain"])
        return Display()

    monkeypatch.setattr("holdfast.comparing.making._in_notebook", lambda: True)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    times = iter([0.0, 0.1, 0.2] if is_quick else [0.0, 1.0, 1.0, 1.1])
    monkeypatch.setattr("holdfast.comparing.making.time.monotonic", lambda: next(times))
    stream = io.StringIO()
    with progress_shown(9, stream=stream) as show:
        show(1, "first")
        show(9, "all done")
    assert shown == ([] if is_quick else ["9 of 9 rounds, all done"])
    assert not stream.getvalue()


def test_comparing_is_not_imported_with_the_laboratory():
    import subprocess

    code = "import sys, holdfast.lab; print('holdfast.comparing' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
