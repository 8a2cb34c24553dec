"""Tables that others published: what they are made of, and whose numbers stand beside ours."""

import subprocess
import sys

import pytest

from holdfast.paper import EXPERIMENTS, experiments_named
from holdfast.paper.experiment import Printed, document, runs_of
from holdfast.paper.others_tables import OTHERS, OTHERS_TABLES
from holdfast.report.tables import table_text

#: The tables that have the published size at the scale cpu.
FULL = [table for table in OTHERS_TABLES if not {"flower-fmnist", "fdcr-cifar10"} & {*table.tasks}]

WITHOUT_FLOWER = """
import sys
sys.modules["flwr"] = None
import numpy as np
from holdfast.paper import EXPERIMENTS
from holdfast.paper.flower_rules import flower_median
assert len(EXPERIMENTS["flower_fmnist"](n_seeds=1).cells) > 8
try:
    flower_median(np.zeros((3, 2)))
except ImportError as error:
    print(error)
"""


#: The clients, those in a round, and those of all who attack.
PEOPLE = {
    "flower_fmnist": (10, 10, 2),
    "flower_fmnist_skewed": (10, 10, 2),
    "flower_fmnist_three": (10, 10, 3),
    "fdcr_cifar10": (10, 10, 2),
    "fdcr_beta05": (10, 10, 3),
    "fdcr_beta03": (10, 10, 3),
    "gsc_cifar10": (20, 10, 4),
    "neuroforensics_mnist": (20, 10, 4),
}


@pytest.mark.parametrize("table", OTHERS_TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
def test_every_row_has_as_many_clients_and_attackers_as_published(table, scale):
    n_clients, n_per_round, n_malicious = PEOPLE[table.name]
    for cell in table(scale=scale, n_seeds=1).cells:
        (run,) = cell.runs
        assert (run.task.n_clients, run.task.n_per_round) == (n_clients, n_per_round)
        assert run.attack.n_malicious == (0 if cell.row.endswith("No attack") else n_malicious)
        backdoor = "distributed_pixels" if cell.row.startswith("DBA") else "pixel_patch"
        assert run.attack.backdoor.name == ("a3fl" if table.name == "neuroforensics_mnist" else backdoor)


@pytest.mark.parametrize("table", FULL, ids=lambda table: table.name)
def test_a_table_of_the_published_size_has_the_same_runs_at_the_scale_paper(table):
    runs, published = (runs_of([table(scale=scale, n_seeds=1)]) for scale in ("cpu", "paper"))
    assert runs == published
    assert not runs.keys() & runs_of([table(scale="smoke", n_seeds=1)]).keys()


@pytest.mark.parametrize(
    ("name", "row", "rounds", "poisoned", "split"),
    [
        ("fdcr_beta05", "DnC", (50, 10.0, 64), 32, "dirichlet(alpha=0.5, n_least=10)"),
        ("fdcr_beta03", "DnC", (50, 10.0, 64), 32, "dirichlet(alpha=0.3, n_least=10)"),
        ("gsc_cifar10", "DBA: Krum", (30, 2.0, 32), 16, "dirichlet(alpha=0.5, n_least=10)"),
        ("neuroforensics_mnist", "FLAME", (100, 1.0, 10), 2, "dirichlet(alpha=0.7, n_least=10)"),
    ],
)
def test_a_table_of_the_published_size_is_set_as_published(name, row, rounds, poisoned, split):
    for cell in EXPERIMENTS[name](n_seeds=1).cells:
        if cell.row == row:
            (run,) = cell.runs
            assert (run.task.n_rounds, run.task.epochs, run.task.batch_size) == rounds
            assert run.attack.poison_per_batch == poisoned
            assert str(run.task.split) == split


def test_rules_know_of_three_attackers_among_ten():
    cells = {cell.row: cell for cell in EXPERIMENTS["fdcr_beta03"](n_seeds=1, tasks=["fdcr-fmnist"]).cells}
    rules = {row: dict(cell.runs[0].defence.aggregate.settings) for row, cell in cells.items()}
    for row in ("Multi-Krum", "DnC", "Krum, trimmed mean", "Watch, Krum, trimmed mean"):
        assert rules[row]["n_malicious"] == 3
    assert rules["Trimmed mean"]["alpha"] == rules["Invariant"]["alpha"] == 0.3
    assert rules["Bulyan"]["n_malicious"] == 2
    assert cells["FLTrust"].runs[0].task.n_root == 256


@pytest.mark.parametrize(
    ("table", "row", "task", "accuracy", "attack_success"),
    [
        ("fdcr_beta03", "DnC", "fdcr-fmnist", 0.8395, 0.9801),
        ("fdcr_beta03", "Multi-Krum", "fdcr-fmnist", 0.7885, 0.13),
        ("fdcr_beta05", "DnC", "fdcr-cifar10-full", 0.6001, 0.0976),
        ("fdcr_beta05", "Multi-Metrics", "fdcr-fmnist", 0.7926, 0.999),
        ("gsc_cifar10", "DBA: FLTrust", "gsc-cifar10", 0.591, 0.328),
        ("neuroforensics_mnist", "FLAME", "neuroforensics-mnist", 0.9802, 0.9985),
    ],
)
def test_published_numbers_stand_beside_their_rows(table, row, task, accuracy, attack_success):
    (cell,) = (cell for cell in EXPERIMENTS[table](tasks=[task]).cells if cell.row == row)
    assert cell.printed == Printed(accuracy, attack_success)


def test_the_scale_paper_has_the_published_numbers():
    names = ("flower_fmnist", "flower_fmnist_skewed", "fdcr_cifar10")
    flower, skewed, fdcr = (
        EXPERIMENTS[name](scale="paper", n_seeds=1).cells[0].runs[0].task for name in names
    )
    assert (flower.n_rounds, flower.epochs, flower.batch_size) == (40, 1.0, 32)
    assert str(flower.data) == "fashion_mnist(n_train=48100, n_test=10000)"
    assert (str(skewed.split), str(flower.split)) == ("dirichlet(alpha=0.1, n_least=10)", "iid()")
    assert (fdcr.n_rounds, fdcr.epochs, fdcr.batch_size) == (50, 10.0, 64)
    assert str(fdcr.split) == "dirichlet(alpha=0.5, n_least=10)"


def test_flowers_row_stands_beside_ours_of_the_same_settings():
    cells = {cell.row: cell for cell in EXPERIMENTS["flower_fmnist"](n_seeds=1).cells}
    theirs, ours = cells["Flower: MultiKrum"].runs[0], cells["ours: multi_krum"].runs[0]
    assert str(theirs.defence.aggregate) == "flower_multi_krum(n_malicious=2, n_selected=8)"
    assert str(ours.defence.aggregate) == "multi_krum(n_malicious=2, n_selected=None, weighted=True)"
    assert (theirs.task, theirs.attack) == (ours.task, ours.attack)


def test_whose_numbers_stand_in_brackets_is_said(tmp_path):
    experiments = experiments_named(["flower_fmnist", "fdcr_cifar10"], scale="smoke", n_seeds=1)
    flower, fdcr = document(experiments, tmp_path, scale="smoke")["experiments"]
    cells = {(cell["row"], cell["task"]): cell["printed"] for cell in (*flower["cells"], *fdcr["cells"])}
    assert Printed(**cells["Flower: FedMedian", OTHERS[0]]).attack_success == 0.168
    assert Printed(**cells["RFA", OTHERS[1]]).accuracy == 0.647
    assert "in brackets what their study prints" in table_text(flower, "markdown", scale="smoke")
    assert "in brackets what FDCR prints" in table_text(fdcr, "markdown", scale="smoke")


def test_reading_needs_no_flower_and_running_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT_FLOWER], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "holdfast.flower needs Flower; in a checkout: pip install '.[flower]'"
