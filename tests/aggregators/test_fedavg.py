import numpy as np

from holdfast import fedavg


def test_weights_of_nothing_are_equal_weights():
    rows = np.array([[1.0], [3.0]])
    assert fedavg(rows, weights=[0, 0]).update == 2
    assert fedavg(rows).update == 2


def test_it_says_that_it_defends_nothing():
    said = fedavg(np.ones((3, 1))).diagnostics
    assert said.covered is None
    assert "one client can move the model anywhere" in said.notes[0]
