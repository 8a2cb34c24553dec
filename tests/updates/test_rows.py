import tracemalloc

import ml_dtypes
import numpy as np
import pytest

from holdfast import InputError, fedavg, invariant
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError, TooFewClientsError
from holdfast.updates import rows_of
from holdfast.updates.pieces import flat_piece
from holdfast.updates.rows import CELL

torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")


def matrix(n=7, dim=11, seed=0):
    return np.random.default_rng(seed).normal(size=(n, dim)).astype(np.float32)


def test_all_forms_of_a_round_give_the_same_rows():
    m, base = matrix(), np.arange(11, dtype=np.float32)
    models = m + base
    layered = [[row[:6].reshape(2, 3), row[6:7].reshape(()), row[7:]] for row in m]
    for form in (
        m,
        list(m),
        [torch.from_numpy(row) for row in m],
        torch.from_numpy(m),
        layered,
        np.asfortranarray(m),
    ):
        np.testing.assert_array_equal(rows_of(form).block(0, 11), m)
    np.testing.assert_array_equal(fitting(models, base=base).rows.block(0, 11), models - base)
    np.testing.assert_array_equal(np.asarray(rows_of(m)), m)


def test_blocks_cut_across_layers():
    m = matrix(dim=23)
    rows = rows_of([[row[:5], row[5:5], row[5:20].reshape(5, 3).T.copy().T, row[20:]] for row in m])
    for start, stop in ((0, 23), (3, 8), (5, 5), (19, 23), (22, 23)):
        np.testing.assert_array_equal(rows.block(start, stop), m[:, start:stop])


@pytest.mark.parametrize("make", [lambda r: r[::-1][::-1], lambda r: np.repeat(r, 2)[::2], np.copy])
def test_strided_rows_are_read_in_place(make):
    m = matrix()
    np.testing.assert_array_equal(rows_of([make(row) for row in m]).block(2, 9), m[:, 2:9])


def test_a_transposed_layer_is_flattened_in_its_own_order():
    layers = [[np.arange(6.0).reshape(2, 3).T + i] for i in range(3)]
    expected = np.stack([layer[0].reshape(-1) for layer in layers])
    np.testing.assert_array_equal(rows_of(layers).block(0, 6), expected)
    assert fedavg(layers).update[0].shape == (3, 2)


def test_other_byte_orders_are_read():
    m = matrix()
    np.testing.assert_array_equal(rows_of(m.astype(">f4")).block(0, 11), m)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_numpy_types_come_back_as_they_were(dtype):
    m = matrix().astype(dtype)
    update = invariant(m, tau=0.2).update
    assert update.dtype == dtype
    wide = invariant(m.astype(np.float64), tau=0.2).update
    np.testing.assert_allclose(update.astype(np.float64), wide, rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_torch_tensors_come_back_as_tensors(dtype):
    m = torch.from_numpy(matrix()).to(dtype)
    for form in (m, [row.requires_grad_() for row in m.clone()]):
        update = fedavg(form).update
        assert isinstance(update, torch.Tensor)
        assert update.dtype == dtype
        torch.testing.assert_close(update, m.double().mean(0).to(dtype), rtol=1e-2, atol=1e-3)


def test_a_round_of_state_dicts_values_keeps_every_layers_type():
    net = torch.nn.Linear(3, 2)
    clients = [[net.weight.detach() + i, net.bias.detach().half()] for i in range(5)]
    weight, bias = fedavg(clients).update
    assert weight.shape == (2, 3)
    assert weight.dtype == torch.float32
    assert bias.dtype == torch.float16


def test_mixed_types_come_back_in_one_that_holds_them_all():
    assert fedavg([np.ones(3, np.float16), np.ones(3, np.float32)]).update.dtype == np.float32
    assert fedavg([np.ones(3, np.float16), np.ones(3, np.float64)]).update.dtype == np.float64


def test_a_server_in_half_precision_refuses_what_its_type_cannot_hold():
    base = np.full(2, 60000, dtype=np.float16)
    models = [np.full(2, 60000, dtype=np.float16), np.full(2, -60000, dtype=np.float16)]
    with pytest.raises(NonFiniteError, match="row 1"):
        fedavg(fitting(models, base=base).rows)


def test_lists_of_numbers_are_rows():
    np.testing.assert_array_equal(fedavg([[1, 2], [3, 4.0]]).update, [2, 3])


@pytest.mark.parametrize(
    ("updates", "says"),
    [
        (np.ones(4), r"\(n_clients, dim\); got shape \(4,\)"),
        ("updates", "got str"),
        ({0: np.ones(3)}, "got dict"),
        ([np.ones(3), np.ones((3, 1))], r"row 1: wrong shape: \(3, 1\), not \(3,\)"),
        ([[np.ones(3)], np.ones(3)], "row 1: wrong form: one array, not a list of layers"),
        ([[np.ones(3)], [np.ones(3), np.ones(1)]], "row 1: wrong number of layers: 2, not 1"),
        ([np.ones(3), None], "row 1: neither an array nor a list of arrays: NoneType"),
        ([np.ones(3), np.ones(3, dtype=complex)], "row 1: wrong type: complex128"),
        ([np.array(["a", "b"])], "row 0: wrong type"),
        (np.ones((3, 0)), "holds no numbers"),
        (np.ma.masked_equal([[1.0, 2.0], [3.0, 4.0]], 4.0), "row 1: masked values"),
    ],
)
def test_what_cannot_be_a_round_is_refused_with_its_row(updates, says):
    with pytest.raises(InputError, match=says):
        rows_of(updates)


def test_tensors_without_numbers_are_refused():
    with pytest.raises(InputError, match="row 0: cannot be read as an array"):
        rows_of([torch.ones(3, device="meta")])


def test_a_base_must_be_finite():
    with pytest.raises(InputError, match="base, the global model, holds NaN"):
        fitting([np.ones(3)], base=np.array([0, np.nan, 0]))


def test_pieces_of_permuted_layers_are_those_of_the_flat_layer():
    layer = np.arange(2 * 3 * 4 * 5.0).reshape(2, 3, 4, 5)
    for permuted in (layer.transpose(0, 2, 3, 1), layer[:, ::2], layer[:1].transpose(0, 3, 1, 2), layer.T):
        flat = permuted.reshape(-1)
        for start in range(0, flat.size, 7):
            for stop in range(start + 1, flat.size + 1, 11):
                np.testing.assert_array_equal(flat_piece(permuted, slice(start, stop)), flat[start:stop])


def test_a_piece_of_a_fortran_layer_costs_no_more_than_the_piece():
    layer = np.asfortranarray(np.arange(2 * 500_000.0).reshape(2, 500, 1000))
    tracemalloc.start()
    piece = flat_piece(layer, slice(499_000, 501_500))
    taken = rows_of([layer]).at(np.array([0, 499_999, 999_999]))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_array_equal(piece, np.arange(499_000.0, 501_500.0))
    np.testing.assert_array_equal(taken, [[0.0, 499_999.0, 999_999.0]])
    assert most < 4 * piece.nbytes


def test_no_rows_left_are_no_round():
    with pytest.raises(TooFewClientsError):
        fedavg(rows_of(matrix()).select([]))


def test_matrices_of_other_kinds_are_read_as_arrays():
    with pytest.warns(PendingDeprecationWarning):
        odd = np.matrix(matrix())
    np.testing.assert_array_equal(rows_of(odd).block(0, 11), matrix())


def test_tensors_without_rows_in_memory_are_refused():
    with pytest.raises(InputError):
        rows_of(torch.eye(3).to_sparse())


def test_a_base_is_given_once():
    rows = rows_of(matrix())
    with pytest.raises(InputError, match="have their form and base already"):
        fitting(rows, base=np.zeros(11))


def test_a_rule_of_ones_own_can_be_plain_numpy():
    m = matrix(dim=2 * CELL)
    np.testing.assert_array_equal(np.max(rows_of(list(m)), axis=0), m.max(axis=0))
    m[2, 5] = np.nan
    with pytest.raises(NonFiniteError, match="row 2"):
        np.max(rows_of(m), axis=0)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_any_coordinates_can_be_taken_from_any_form(dtype):
    m = matrix(dim=23).astype(dtype)
    where = np.array([0, 1, 4, 5, 6, 19, 20, 22])
    expected = m[:, where].astype(np.float64 if dtype == np.float64 else np.float32)
    layered = [[row[:5], row[5:5], row[5:20].reshape(5, 3).T.copy().T, row[20:]] for row in m]
    for form in (m, list(m), layered, np.asfortranarray(m)):
        np.testing.assert_array_equal(rows_of(form).at(where), expected)
        assert rows_of(form).at(where[:0]).shape == (7, 0)
    np.testing.assert_array_equal(rows_of(layered).at(np.arange(23)), rows_of(m).block(0, 23))


def test_coordinates_of_models_are_those_of_their_updates():
    m, base = matrix(), np.arange(11, dtype=np.float32)
    rows = fitting(m + base, base=base).rows
    np.testing.assert_array_equal(rows.at(np.array([2, 3, 10])), rows.block(0, 11)[:, [2, 3, 10]])
    huge = fitting([np.full(2, 3e38, np.float32)], base=np.full(2, -3e38, np.float32)).rows
    assert np.isinf(huge.at(np.array([0]))).all()  # without a warning: whoever takes it looks
