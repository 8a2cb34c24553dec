"""The global model: parameters and buffers told apart, moved, and put back in the same order."""

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord

from holdfast.buffers import BUFFERS
from holdfast.errors import InputError
from holdfast.flower.model import Model, moved

from .nodes import arrays_in, model, record


def test_batchnorms_buffers_are_told_by_name_and_integers_by_type():
    found = Model.of(record(model()), buffers=BUFFERS)
    assert [*found.params] == ["fc.weight", "bn.weight"]
    assert [*found.buffers] == ["bn.running_mean", "bn.running_var", "bn.num_batches_tracked"]


def test_the_moved_model_has_the_same_names_in_the_same_order():
    own = Model.of(record(model()), buffers=BUFFERS)
    found = arrays_in(moved(own, [np.ones((4, 3), np.float32), np.zeros(4, np.float32)], own.buffers))
    assert [*found] == [*model()]
    np.testing.assert_allclose(found["fc.weight"], model()["fc.weight"] + 1)


def test_a_model_that_cannot_be_read_is_an_error_of_the_caller():
    with pytest.raises(InputError, match="'w' cannot be read: serialised as 'torch'"):
        Model.of(ArrayRecord({"w": Array("float32", (1,), "torch", b"")}), buffers=())


def test_scalars_empty_arrays_and_half_precision_are_parameters_too():
    base = {"scale": np.array(2.0), "none": np.zeros((0, 3)), "half": np.ones(3, np.float16)}
    own = Model.of(record(base), buffers=BUFFERS)
    found = arrays_in(moved(own, [np.array(1.0), np.zeros((0, 3)), np.ones(3, np.float16)], {}))
    assert found["scale"] == 3.0
    assert found["half"].dtype == np.float16
    assert found["none"].shape == (0, 3)
