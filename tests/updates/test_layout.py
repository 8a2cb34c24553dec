import numpy as np
import pytest

from holdfast import InputError
from holdfast.updates.layout import Layout, Unfit, widened


def test_a_layout_restores_what_it_flattens():
    update = [np.arange(6.0, dtype=np.float32).reshape(2, 3), np.float64(7.0).reshape(()), np.zeros((0, 4))]
    layout = Layout.of(update)
    flat = layout.flat(update, name="update")
    assert flat.dtype == np.float64
    for got, given in zip(layout.restored(flat), update, strict=True):
        np.testing.assert_array_equal(got, given)
        assert got.dtype == given.dtype


def test_all_bfloat16_values_are_widened_exactly():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    bits = np.arange(2**16, dtype=np.uint16)
    np.testing.assert_array_equal(
        widened(bits, np.dtype(np.float32)), bits.view(ml_dtypes.bfloat16).astype(np.float32)
    )


def test_what_a_server_holds_must_fit_its_own_layout():
    layout = Layout.of(np.zeros(3))
    with pytest.raises(InputError, match="reference must have the form of an update: wrong shape"):
        layout.flat(np.zeros(4), name="reference")
    with pytest.raises(InputError, match="reference holds NaN"):
        layout.flat(np.array([0, np.nan, 0]), name="reference")
    with pytest.raises(InputError, match="base holds no numbers"):
        Layout.of([], name="base")
    with pytest.raises(InputError, match="params: wrong type: int64"):
        Layout.of(np.zeros(3, dtype=int), name="params")


class Hostile:
    def __array__(self, dtype=None, copy=None):
        raise MemoryError("boo")


@pytest.mark.parametrize(
    "sent", [Hostile(), [np.ones(2), Hostile()], [[1.0], [1.0, 2.0]], [[np.ones(2)]], {}, b"x"]
)
def test_nothing_a_client_sends_raises_anything_but_unfit(sent):
    with pytest.raises(Unfit, match=r"wrong|neither|cannot"):
        Layout.of(np.zeros(2)).accept(sent)


def test_a_single_array_and_a_list_of_one_are_told_apart():
    assert Layout.of(np.ones(2)).is_single
    assert not Layout.of([np.ones(2)]).is_single
