"""What the tables hold: the printed numbers, the settings of the paper, runs that are shared."""

import re

import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.lab.tasks import base_name
from holdfast.paper import EXPERIMENTS, experiments_named
from holdfast.paper.experiment import Printed, runs_of
from holdfast.paper.network_table import PROTOCOL_TABLES
from holdfast.paper.others_tables import OTHERS
from holdfast.paper.table import Row, Table, printed_numbers


def cells(name, **options):
    return {(cell.row, cell.task): cell for cell in EXPERIMENTS[name](**options).cells}


def test_every_printed_number_is_in_a_cell_of_its_table():
    found = {
        (one.name, cell.row, base_name(cell.task)): cell.printed
        for one in experiments_named(["all"])
        for cell in one.cells
        if cell.printed and not cell.stands_in_for and not EXPERIMENTS[one.name].printed_in
    }
    assert found == printed_numbers()
    assert len([name for name, _, task in found if task not in OTHERS]) == 93
    assert found["table4", "Mean / deviation", "phishing"] == Printed(
        accuracy=0.999, attack_success=0.333, accuracy_variance=0.0, attack_success_variance=0.333
    )


def test_digits_stand_beside_the_numbers_of_cifar10_where_the_paper_has_nothing_else():
    for name in ("table6", "table7", "table8", "table9", "table10"):
        here = cells(name)
        for (row, task), cell in here.items():
            if task == "digits":
                assert cell.stands_in_for == "cifar10"
                assert cell.printed == here[row, "cifar10"].printed
    assert cells("table1")["FedAvg", "digits"].printed is None


def test_one_cell_is_left_out_because_it_does_not_fit_into_memory():
    left_out = {
        (one.name, cell.row, cell.task)
        for one in experiments_named(["all"], n_seeds=1)
        for cell in one.cells
        if not cell.runs
    }
    assert left_out == {("table10", "i.i.d. (everything)", "cifar10")}


@pytest.mark.parametrize(
    ("row", "tasks", "says"),
    [
        (Row("Krum", "kurm"), ("digits",), "no defence 'kurm'; did you mean 'krum'?"),
        (
            Row("Edge", attack="edgecase"),
            ("digits",),
            "no attack 'edgecase' on digits; did you mean 'edge-case'?",
        ),
        (Row("Edge"), ("digit",), "no task 'digit'; did you mean 'digits'?"),
        (Row("FLIP", "flip"), ("twitter",), "flip inverts triggers in numbers; twitter is text"),
        (Row("Edge", settings={"invariant.tua": 0.5}), ("digits",), "did you mean 'invariant.tau'?"),
    ],
)
def test_a_name_that_the_laboratory_does_not_know_raises(row, tasks, says):
    with pytest.raises(InputError, match=re.escape(says)):
        Table("mine", "Mine", "", (row,), tasks=tasks)()


def test_shares_of_attackers_are_rounded_up_as_everywhere():
    table = Table("mine", "Mine", "", (Row("Some", share=0.11), Row("Usual")), tasks=("digits",))
    assert [cell.runs[0].attack.n_malicious for cell in table(n_seeds=1).cells] == [6, 10]


def test_the_settings_are_those_of_the_papers_table_3():
    settings = {
        task: dict(cells("table1")["Invariant", task].runs[0].defence.aggregate.settings)
        for task in ("phishing", "cifar10", "twitter", "digits")
    }
    assert {task: one["tau"] for task, one in settings.items()} == {
        "phishing": 0.6, "cifar10": 0.2, "twitter": 0.6, "digits": 0.6,
    }  # fmt: skip
    assert {one["alpha"] for one in settings.values()} == {0.25}
    attack = {task: cells("table1")["FedAvg", task].runs[0] for task in settings}
    assert {task: run.attack.n_malicious / run.task.n_clients for task, run in attack.items()} == {
        "phishing": 0.2, "cifar10": 0.2, "twitter": 0.1, "digits": 0.2,
    }  # fmt: skip
    assert {run.sampling for run in attack.values()} == {"uniform"}
    released = cells("table1")["Invariant (released code: τ 0.6, α 0.45)", "cifar10"].runs[0]
    assert str(released.defence.aggregate) == "invariant(tau=0.6, alpha=0.45, strict=False)"


def test_one_run_serves_several_tables():
    key = cells("table1")["Invariant", "digits"].runs[0].key
    for name, row in (("table4", "Invariant"), ("table5", "Edge-case"), ("table8", "20 %"),
                      ("table10", "i.i.d. (equal shares)"), ("figure6a", "τ = 0.6"),
                      ("figure6c", "20 clients")):  # fmt: skip
        assert cells(name)[row, "digits"].runs[0].key == key, name
    assert cells("table8")["0 %", "digits"].runs == cells("table5")["No attack", "digits"].runs


def test_adaptive_attackers_read_a_mask_or_make_one():
    here = cells("table7")
    assert here["Invariant", "digits"].runs[0].attack.crafts[0].name == "adaptive"
    for row in ("FLTrust", "RFA", "FLIP"):
        assert here[row, "digits"].runs[0].attack.crafts[0].name == "adaptive_simulated"


def test_all_examples_for_everybody_cost_no_more_steps():
    from holdfast.lab.training import schedule

    run = cells("table10")["i.i.d. (everything)", "digits"].runs[0]
    usual = cells("table10")["i.i.d. (equal shares)", "digits"].runs[0]

    def n_steps(one, n_examples):
        rng = np.random.default_rng(0)
        return len(schedule(n_examples, epochs=one.task.epochs, batch_size=one.task.batch_size, rng=rng))

    assert n_steps(run, 1203) <= n_steps(usual, 1203 // 50) + 1
    whole = cells("table10", scale="paper")["i.i.d. (everything)", "digits"].runs[0]
    assert whole.task.epochs == usual.task.epochs


def test_scales_change_the_runs_and_seeds_count_them():
    small = runs_of(experiments_named(["table4"], scale="smoke", n_seeds=2, tasks=["digits"]))
    assert {run.task.n_rounds for run in small.values()} == {2}
    assert {run.seed for run in small.values()} == {0, 1}
    assert not small.keys() & runs_of(experiments_named(["table4"], tasks=["digits"])).keys()


def test_misspelt_names_are_answered():
    with pytest.raises(InputError, match="did you mean 'table4'"):
        experiments_named(["tabel4"])
    with pytest.raises(InputError, match="no experiment on 'mnist'"):
        experiments_named(["table4"], tasks=["mnist"])
    for name in ("figure1", "figure3c"):
        with pytest.raises(InputError, match="holdfast theory figures"):
            experiments_named([name])


@pytest.mark.parametrize("table", PROTOCOL_TABLES, ids=lambda table: table.name)
def test_the_papers_network_has_the_numbers_of_tables_1_and_4_under_every_protocol(table):
    here, table1, table4 = cells(table.name), cells("table1"), cells("table4")
    for (row, task), cell in here.items():
        other = table1.get((row, "cifar10")) or table4.get((row, "cifar10"))
        assert (task,) == table.tasks
        assert cell.printed == (other.printed if other else None)
        assert cell.runs[0].attack.n_malicious == (0 if row == "No attack" else 20)
    own = [cell for (row, _), cell in here.items() if not row.endswith("statistics sent")]
    assert len({str(cell.runs[0].description["task"]) for cell in own}) == 1  # one start


def test_the_note_of_the_papers_network_says_what_its_scale_runs():
    (smoke,) = experiments_named(["paper_network"], scale="smoke")
    task = smoke.cells[0].runs[0].task
    for number in (f"width {dict(task.model.settings)['width']}", f"{task.n_rounds} rounds", "1,000 images"):
        assert number in smoke.note
    (paper,) = experiments_named(["paper_network"], scale="paper")
    assert "50,000 images, 300 rounds" in paper.note
