"""Tables that others published: what they are made of, and whose numbers stand beside ours."""

import subprocess
import sys

import pytest

from holdfast.paper import EXPERIMENTS, experiments_named
from holdfast.paper.experiment import Printed, document
from holdfast.paper.others_tables import OTHERS, OTHERS_TABLES
from holdfast.report.tables import table_text

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


@pytest.mark.parametrize("table", OTHERS_TABLES, ids=lambda table: table.name)
@pytest.mark.parametrize("scale", ["smoke", "cpu", "paper"])
def test_every_row_is_ten_clients_of_whom_two_attack_by_a_patch(table, scale):
    for cell in table(scale=scale, n_seeds=1).cells:
        (run,) = cell.runs
        assert (run.task.n_clients, run.task.n_per_round) == (10, 10)
        assert run.attack.n_malicious == (0 if cell.row == "No attack" else 2)
        assert run.attack.backdoor.name == "pixel_patch"


def test_the_scale_paper_has_the_published_numbers():
    flower, skewed, fdcr = (table(scale="paper", n_seeds=1).cells[0].runs[0].task for table in OTHERS_TABLES)
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
