"""Names from a Python file of the user's own."""

import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from holdfast import InputError, factions, invariant, median
from holdfast.lab import Attack, Defence, build_contest, build_run
from holdfast.lab.own import load_own

HEAD = """
from functools import partial
import numpy as np
from holdfast import Aggregate, factions, invariant, median, rule
from holdfast.lab import Attack, Defence, Task
from holdfast.lab.data import digits
from holdfast.lab.models import small_cnn
from holdfast.lab.training import sgd

task = Task("tiny", digits, small_cnn, partial(sgd, lr=0.1), n_clients=10, n_per_round=5, n_rounds=2)
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that writes a file under a name of its own, and forget what is imported of it."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)

    def write(name, body, head=HEAD):
        path = tmp_path / f"{name}.py"
        path.write_text(head + dedent(body))
        return str(path)

    yield write
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or "/").is_relative_to(tmp_path):
            del sys.modules[name]


def test_a_file_gives_names_to_what_it_holds(written):
    own = load_own(
        written(
            "holds_all",
            """
            corner = Attack("in the corner", 2)
            careful = factions(hearing=4)
            strict = invariant(tau=0.9)
            both = Defence("watched", median, watch=careful)
            _private = Task("other", digits, small_cnn, partial(sgd, lr=0.1))

            @rule
            def middle(updates, *, share=0.5):
                return Aggregate(np.quantile(np.asarray(updates), share, axis=0))
            """,
        )
    )
    assert list(own.tasks) == ["task"]
    assert list(own.attacks) == ["corner"]
    assert list(own.rules) == ["strict", "middle"]  # not those that it imports
    assert list(own.watches) == ["careful"]
    assert list(own.defences) == ["both"]


def test_names_of_a_file_stand_where_ours_do(written):
    where = written(
        "named_parts",
        """
        corner = Attack("in the corner", 2)
        careful = factions(hearing=4)

        @rule
        def middle(updates, *, n_malicious, share=0.5):
            return Aggregate(np.quantile(np.asarray(updates), share, axis=0))
        """,
    )
    run = build_run(where, attack="corner+sign-flip", defence="careful+named_parts.middle")
    assert run.task.name == "tiny"
    assert run.attack.name == "in the corner+sign-flip"
    assert run.attack.n_malicious == 2
    assert [craft.name for craft in run.attack.crafts] == ["sign_flip"]
    assert run.defence.name == "careful+middle"
    assert dict(run.defence.watch.settings)["hearing"] == 4
    assert dict(run.defence.aggregate.settings) == {"n_malicious": 1, "share": 0.5}  # 2 of 10, 5 per round
    assert build_run(where, attack=None).attack.name == "in the corner"
    assert build_run(where, attack="in the corner", defence="middle", watch="careful").defence == run.defence
    contest = build_contest(where, ["middle", "krum"], attack=None, settings={"share": 0.3})
    assert dict(contest["middle"][0].defence.aggregate.settings)["share"] == 0.3
    assert dict(contest["krum"][0].defence.aggregate.settings) == {"n_malicious": 1}


def test_rules_of_ones_own_stand_in_front_and_behind(written):
    where = written(
        "own_fronts",
        """
        from holdfast.aggregators import nnm
        mixing = nnm(n_malicious=3)

        @rule
        def halved(updates, *, n_malicious, rule=median, **inputs):
            return Aggregate(rule.run(np.asarray(updates) / 2, **inputs).update)

        @rule
        def middle(updates, *, n_malicious, share=0.5):
            return Aggregate(np.quantile(np.asarray(updates), share, axis=0))
        """,
    )
    attack = Attack("some", 4)
    run = build_run(where, attack=attack, defence="factions+mixing+own_fronts.halved+middle")
    assert run.defence.name == "factions+mixing+halved+middle"
    mixing, halved = run.defence.aggregate, run.defence.aggregate.inner
    assert (mixing.name, dict(mixing.settings)["n_malicious"]) == ("nnm", 3)  # what is set stays
    assert dict(halved.settings)["n_malicious"] == 2
    assert dict(halved.inner.settings) == {"n_malicious": 2, "share": 0.5}
    np.testing.assert_allclose(run.defence.aggregate(np.ones((7, 3))).update, 0.5)
    assert build_run(where, defence="nnm+krum").defence.aggregate.inner.name == "krum"
    with pytest.raises(InputError, match="no watch 'halfed'; did you mean 'halved'"):
        build_run(where, attack=attack, defence="halfed+middle")


def test_a_module_is_found_from_where_the_command_runs(written, tmp_path, monkeypatch):
    written("in_the_folder", "small = task")
    monkeypatch.chdir(tmp_path)
    assert build_run("in_the_folder:task").task.name == "tiny"


def test_what_is_edited_while_a_notebook_runs_counts(written):
    body = "@rule\ndef mine(updates):\n    return Aggregate(np.asarray(updates).{}(axis=0))\n"
    where = written("edited", body.format("mean"))
    before = build_run(where, defence="mine")
    assert build_run(where, defence="mine").key == before.key
    written("edited", body.format("max"))
    after = build_run(where, defence="mine")
    assert after.key != before.key
    rows = np.array([[1.0], [3.0]])
    assert (before.defence.aggregate(rows).update, after.defence.aggregate(rows).update) == (2.0, 3.0)


@pytest.mark.parametrize(
    ("body", "choices", "needed"),
    [
        ("task = None", {}, "holds no task: write task ="),
        ("small = Task('s', digits, small_cnn, partial(sgd, lr=1))", {}, "2 tasks: write .*:task or .*:sm"),
        ("", {"task": ":tsk"}, "holds no task 'tsk'; did you mean 'task'"),
        ("", {"attack": None}, "holds no attack; name one with --attack"),
        ("a = Attack('a', 1); b = Attack('b', 1)", {"attack": None}, "holds 2 attacks: a, b; name one"),
        ("corner = Attack('c', 1)", {"attack": "cornre"}, "no attack 'cornre' .* did you mean 'corner'"),
        ("corner = Attack('c', 1)", {"attack": "none+corner"}, "no attack 'none' on tiny: it stands alone"),
        ("mine = invariant(tau=0.1)", {"defence": "mien"}, "no defence 'mien'; did you mean 'mine'"),
        ("krum = invariant(tau=0.1)", {"defence": "krum"}, r"in .*\.py and in holdfast: write \w+\.krum"),
        ("", {"scale": "smoke"}, "the scale 'smoke' is for the tasks that come with holdfast"),
        ("1 / 0", {}, r"cannot be used \(line 11\): ZeroDivisionError: division by zero"),
        ("exit(3)", {}, r"cannot be used \(line 11\): SystemExit: 3"),
        ("import no_such_module", {}, r"cannot be used \(line 11\): ModuleNotFoundError: No module named"),
        ("@rule\ndef bad(): ...", {}, r"cannot be used .*: a rule is called with \(updates\), then inputs"),
        ("x = Task('t', digits, small_cnn, lambda params: 1)", {}, r"training is called with \(model, par"),
        ("def broken(:", {}, r"cannot be used.*SyntaxError: invalid syntax"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_with_what_to_do(written, body, choices, needed, request):
    where = written(f"wrong_{abs(hash(request.node.name))}", body)
    with pytest.raises(InputError, match=needed):
        build_run(where + choices.pop("task", ""), **choices)


@pytest.mark.parametrize(
    ("setting", "changed"),
    [
        ("strict.tau", ["strict", "keen+strict"]),
        ("keen+strict.tau", ["keen+strict"]),
        ("invariant.tau", ["invariant"]),
        ("tau", ["strict", "keen+strict", "invariant"]),
        ("keen.hearing", ["keen+strict"]),
        ("factions.hearing", ["factions+median"]),
        ("hearing", ["keen+strict", "factions+median"]),
    ],
)
def test_a_setting_goes_to_the_defence_that_is_called_so(written, setting, changed):
    where = written("sets_by_name", "strict = invariant(tau=0.9); keen = factions(hearing=4)")
    names = ["strict", "keen+strict", "invariant", "factions+median"]
    plain = build_contest(where, names)
    contest = build_contest(where, names, settings={setting: 0.25})
    assert [name for name in names if contest[name] != plain[name]] == changed


def test_a_setting_goes_to_all_with_its_function_where_none_is_called_so(written):
    where = written("sets_by_function", "strict = invariant(tau=0.9); both = Defence('b', strict)")
    contest = build_contest(where, ["strict", "both"], settings={"invariant.tau": 0.25})
    assert all(runs[0].defence.aggregate.settings[0] == ("tau", 0.25) for runs in contest.values())
    assert build_run(where, defence="both", settings={"b.tau": 0.25}).defence.aggregate == invariant(tau=0.25)


def test_a_file_of_a_package_is_loaded_as_its_module(written, tmp_path, monkeypatch):
    folder = tmp_path / "own_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "parts.py").write_text(HEAD)
    (folder / "tasks.py").write_text("from .parts import task\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"relative import.*; write own_package\.tasks, in the folder that"):
        load_own("own_package/tasks.py")
    assert build_run("own_package.tasks").task.name == "tiny"


def test_a_defence_that_is_named_twice_is_refused(written):
    for names in (["median", "median"], ["twice.strict", "strict"]):
        with pytest.raises(InputError, match=r"two defences are called \w+: take one away"):
            build_contest(written("twice", "strict = invariant(tau=0.9)"), names)
    with pytest.raises(InputError, match=r"name them, as in \{'mine': rule\}"):
        build_contest("digits", [median, median])


def test_a_file_that_cannot_be_a_module_is_refused(written, tmp_path):
    for name, needed in (
        ("my-task", "rename it to letters, digits and underscores"),
        ("json", "has the name of another module, .*json.*: rename the file"),
        ("wave", "has the name of another module, wave of Python: rename the file"),
        ("torch", "has the name of another module, .*torch.*: rename the file"),
        ("pytest", "has the name of another module, .*pytest.*: rename the file"),
    ):
        with pytest.raises(InputError, match=needed):
            load_own(written(name, ""))
    for place in (".", "..", "./folder"):
        with pytest.raises(InputError, match=r"is no Python file, as mine\.py, and no module, as package"):
            build_run(place)
    with pytest.raises(InputError, match="no module 'no_such_module'"):
        build_run("no_such_module:task")
    with pytest.raises(InputError, match="no file"):
        build_run(str(tmp_path / "absent.py"))


def test_values_stand_where_names_do():
    task = build_run("digits").task
    run = build_run(task, attack=Attack("some", 10), defence=median, watch=factions(hearing=2))
    assert run.defence.name == "factions+median"
    assert build_run(task, defence=Defence("mine", median)).defence.name == "mine"
    contest = build_contest(task, {"middle": median, "krum": "krum"}, attack=Attack("some", 10))
    assert {name: runs[0].defence.name for name, runs in contest.items()} == {
        "middle": "middle",
        "krum": "krum",
    }
    with pytest.raises(InputError, match="two defences are called median: name them"):
        build_contest(task, [median, "median"])
    with pytest.raises(InputError, match="factions\\+median has a watch already"):
        build_run(task, defence=run.defence, watch=factions)
